import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

extension EncodingTests {
  @Test(arguments: 0..<20) func randomTrees_areWrittenAsJSONEncoderDoes(_ seed: Int) throws {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    var written = 0
    for _ in 0..<100 {
      let tree = RandomTree.random(depth: 4, using: &random)
      let expected = try String(decoding: Self.reference.encode(tree), as: UTF8.self)
      #expect(try String(decoding: PayloadCoding.encode(tree), as: UTF8.self) == expected)
      if Self.written(tree) != nil { written += 1 }
    }
    // The rest has keys with escapes in them, or twice.
    #expect(written >= 50)
  }
}
