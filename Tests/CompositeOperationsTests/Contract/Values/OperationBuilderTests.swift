import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("OperationBuilder", .hangLimit)
struct OperationBuilderTests {
  @Test("Operations one after another, of any kind, run in parallel")
  func builder_ofExpressions() async {
    let composite = CompositeOperation {
      succeeding(1)
      Doubling(1)
      AsyncOperation { 3 }
      BlockOperation {}
    }
    #expect(composite.operations.count == 4)
    let values = await outcomeOfStarting(composite).value
    #expect(values?.prefix(3).map { $0 as? Int } == [1, 2, 3])
  }

  @Test("An array among them")
  func builder_ofArrays() async {
    let numbers = (2...4).map { succeeding($0) }
    let composite = CompositeOperation {
      succeeding(1)
      numbers
      succeeding(5)
    }
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1, 2, 3, 4, 5])
  }

  @Test("if without else", arguments: [true, false])
  func builder_ofOptional(isIncluded: Bool) async {
    let composite = CompositeOperation {
      succeeding(1)
      if isIncluded { succeeding(2) }
    }
    #expect(await outcomeOfStarting(composite).value as? [Int] == (isIncluded ? [1, 2] : [1]))
  }

  @Test("if else and switch", arguments: [1, 2, 3])
  func builder_ofEither(number: Int) async {
    let composite = CompositeOperation {
      if number == 1 {
        succeeding("one")
      } else {
        succeeding("other")
      }
      switch number {
      case 1: succeeding("1")
      case 2: succeeding("2")
      default: succeeding("3")
      }
    }
    let expected = [number == 1 ? "one" : "other", "\(number)"]
    #expect(await outcomeOfStarting(composite).value as? [String] == expected)
  }

  @Test("for loops")
  func builder_ofLoops() async {
    let composite = CompositeOperation {
      for number in 1...3 {
        succeeding(number)
        if number == 2 { succeeding(20) }
      }
    }
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1, 2, 20, 3])
  }

  @Test("Nothing at all")
  func builder_ofNothing() async {
    let composite = CompositeOperation {}
    #expect(await outcomeOfStarting(composite).value?.isEmpty == true)
  }

  @Test("Nested composites")
  func builder_nested() async {
    let composite = CompositeOperation {
      succeeding(1)
      CompositeOperation {
        succeeding(2)
        succeeding(3)
      }
    }
    let values = await outcomeOfStarting(composite).value
    #expect(values?[0] as? Int == 1)
    #expect(values?[1] as? [any Sendable] as? [Int] == [2, 3])
  }
}
