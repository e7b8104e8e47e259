import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("DecodeJSON and EncodeJSON", .timeLimit(.minutes(30)))
struct CodingTests {
  struct Book: Codable, Sendable, Equatable {
    var title: String
    var date: Date?
  }

  @Test func values_goThereAndBack() async throws {
    let pipeline = Pipeline(EncodeJSON([Book].self)).then(DecodeJSON([Book].self))
    let books = [Book(title: "A"), Book(title: "B", date: Date(timeIntervalSince1970: 7))]
    #expect(try await pipeline.run(books) == books)
  }

  @Test func types_areInferred() async throws {
    let pipeline: Pipeline<Book, Book> = Pipeline(EncodeJSON()).then(DecodeJSON())
    #expect(try await pipeline.run(Book(title: "A")) == Book(title: "A"))
  }

  @Test func configuration_isAsked() async throws {
    let encode = EncodeJSON(Book.self) { encoder in
      encoder.dateEncodingStrategy = .secondsSince1970
      encoder.outputFormatting = .sortedKeys
    }
    let book = Book(title: "A", date: Date(timeIntervalSince1970: 7))
    let data = try await encode.run(book)
    #expect(String(decoding: data, as: UTF8.self) == #"{"date":7,"title":"A"}"#)
    let decode = DecodeJSON(Book.self) { $0.dateDecodingStrategy = .secondsSince1970 }
    #expect(try await decode.run(data) == book)
  }

  @Test("DecodeJSON reports malformed JSON with the byte of the first mistake")
  func malformed_tellsTheByte() async throws {
    let pipeline = Pipeline(DecodeJSON(Book.self))
    let error = try await outcome(of: pipeline, for: Data(#"{"title": "A" "b"}"#.utf8)).stepError
    #expect((error?.cause as? JSONSyntaxError)?.byteOffset == 14 && error?.stepName == "DecodeJSON")
    let empty = try await outcome(of: pipeline, for: Data()).stepError?.cause as? JSONSyntaxError
    #expect(empty?.code == .unexpectedEnd && empty?.byteOffset == 0)
  }

  @Test func json_ofAnotherShape_failsWithTheDecodersError() async throws {
    let error = try await outcome(of: DecodeJSON(Book.self), for: Data(#"{"name": "A"}"#.utf8)).error
    guard case .keyNotFound(let key, _)? = error as? DecodingError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(key.stringValue == "title")
  }

  @Test func value_thatCannotBeEncoded_failsWithTheEncodersError() async throws {
    #expect(try await outcome(of: EncodeJSON([Double].self), for: [.nan]).error is EncodingError)
  }

  @Test func jsonValues_areCodable() async throws {
    let value: JSONValue = ["a": [1, 2.5, "x", true, .null], "b": [:]]
    #expect(try await Pipeline(EncodeJSON()).then(DecodeJSON(JSONValue.self)).run(value) == value)
    #expect(try await Pipeline(EncodeJSON(JSONValue.self)).then(ParseJSON()).run(value) == value)
  }
}
