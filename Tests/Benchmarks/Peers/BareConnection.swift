#if os(macOS) || os(Linux)
import Foundation

/// A bare connection through libpq's functions.
final class BareConnection: @unchecked Sendable {  // one thread uses it at a time
  private typealias Connect = @convention(c) (UnsafePointer<CChar>) -> OpaquePointer?
  private typealias OfConnection = @convention(c) (OpaquePointer?) -> CInt
  private typealias Message = @convention(c) (OpaquePointer?) -> UnsafePointer<CChar>
  private typealias Finish = @convention(c) (OpaquePointer?) -> Void
  private typealias Execute = @convention(c) (OpaquePointer?, UnsafePointer<CChar>) -> OpaquePointer?
  private typealias Prepare =
    @convention(c) (
      OpaquePointer?, UnsafePointer<CChar>, UnsafePointer<CChar>, CInt, UnsafePointer<UInt32>?
    ) -> OpaquePointer?
  private typealias SendPrepared =
    @convention(c) (
      OpaquePointer?, UnsafePointer<CChar>, CInt, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<CInt>?,
      UnsafePointer<CInt>?, CInt
    ) -> CInt
  private typealias Receive = @convention(c) (OpaquePointer?) -> OpaquePointer?
  private typealias Value = @convention(c) (OpaquePointer?, CInt, CInt) -> UnsafePointer<UInt8>

  private typealias Notifications = @convention(c) (OpaquePointer?) -> UnsafeMutableRawPointer?
  private typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void

  private let connection: OpaquePointer
  private let message: Message
  private let finish: Finish
  private let execute: Execute
  private let prepare: Prepare
  private let send: SendPrepared
  private let enterPipelineMode: OfConnection
  private let sync: OfConnection
  private let receive: Receive
  private let status: OfConnection
  private let rows: OfConnection
  private let value: Value
  private let clear: Finish
  private let socket: OfConnection
  private let consume: OfConnection
  private let notifications: Notifications
  private let free: Free

  init(url: String) {
    let names = ["libpq.so.5", "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib"]
    guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW) }).first else {
      preconditionFailure("there is no libpq")
    }
    func function<F>(_ name: String, as type: F.Type = F.self) -> F { unsafeBitCast(dlsym(library, name), to: type) }
    message = function("PQerrorMessage")
    finish = function("PQfinish")
    execute = function("PQexec")
    prepare = function("PQprepare")
    send = function("PQsendQueryPrepared")
    enterPipelineMode = function("PQenterPipelineMode")
    sync = function("PQpipelineSync")
    receive = function("PQgetResult")
    status = function("PQresultStatus")
    rows = function("PQntuples")
    value = function("PQgetvalue")
    clear = function("PQclear")
    socket = function("PQsocket")
    consume = function("PQconsumeInput")
    notifications = function("PQnotifies")
    free = function("PQfreemem")
    connection = function("PQconnectdb", as: Connect.self)(url)!
  }

  deinit { finish(connection) }

  /// Runs SQL, before there are pipelines.
  func run(_ sql: String) { check(execute(connection, sql)) }

  /// Prepares these statements, and enters pipeline mode.
  func prepare(_ statements: [(name: String, sql: String)]) {
    for (name, sql) in statements { check(prepare(connection, name, sql, 0, nil)) }
    precondition(enterPipelineMode(connection) == 1)
  }

  // MARK: - Pipelines

  func add(_ statement: String, _ parameters: [UInt8]...) { add(statement, parameters) }

  func add(_ statement: String, _ parameters: [[UInt8]]) {
    let lengths = parameters.map { CInt($0.count) }, formats = parameters.map { _ in CInt(1) }
    withPointers(to: parameters[...]) { values in
      precondition(
        send(connection, statement, CInt(values.count), values, lengths, formats, 1) == 1,
        String(cString: message(connection)))
    }
  }

  private func withPointers(
    to parameters: ArraySlice<[UInt8]>, _ known: [UnsafePointer<CChar>?] = [], _ body: ([UnsafePointer<CChar>?]) -> Void
  ) {
    guard let first = parameters.first else { return body(known) }
    first.withUnsafeBytes { bytes in
      let pointer = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      withPointers(to: parameters.dropFirst(), known + [pointer], body)
    }
  }

  /// Sends the added commands, and reads the answers.
  func run(_ count: Int, _ read: (Int, OpaquePointer) -> Void = { _, _ in }) {
    precondition(sync(connection) == 1)
    for position in 0..<count {
      while let result = receive(connection) {
        read(position, result)
        check(result)
      }
    }
    check(receive(connection))
  }

  func rowCount(_ result: OpaquePointer) -> CInt { rows(result) }

  /// A command, rows, or the end of a pipeline.
  private func check(_ result: OpaquePointer?) {
    precondition([1, 2, 10].contains(status(result)), String(cString: message(connection)))
    clear(result)
  }

  func integer(_ result: OpaquePointer, _ row: CInt, _ column: CInt) -> Int64 {
    value(result, row, column).withMemoryRebound(to: UInt8.self, capacity: 8) { bytes in
      (0..<8).reduce(0) { $0 << 8 | Int64(bytes[$1]) }
    }
  }

  // MARK: - Notifications

  /// Waits for a notification, and takes all that have arrived.
  func waitForNotification() {
    while true {
      var isThere = false
      while let notification = notifications(connection) {
        free(notification)
        isThere = true
      }
      if isThere { return }
      var file = pollfd(fd: socket(connection), events: Int16(POLLIN), revents: 0)
      precondition(poll(&file, 1, 10_000) == 1, "there is no notification")
      precondition(consume(connection) == 1, String(cString: message(connection)))
    }
  }

  // MARK: - Values in PostgreSQL's binary form

  static func bytes<I: FixedWidthInteger>(_ number: I) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  static func array(_ numbers: [Int64]) -> [UInt8] { array(numbers.map { bytes($0) }, of: 20) }

  static func array(_ values: [[UInt8]?], of type: Int32) -> [UInt8] {
    let header = [1, 1, type, Int32(values.count), 1].flatMap { bytes($0) }
    return values.reduce(into: header) { $0 += bytes($1.map { Int32($0.count) } ?? -1) + ($1 ?? []) }
  }
}
#endif
