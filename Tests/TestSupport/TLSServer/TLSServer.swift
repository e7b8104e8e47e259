#if os(Linux) || os(macOS)
import CompositeOperationsTestKit
import Foundation

/// A server for HTTPS on 127.0.0.1 with a self-signed certificate: that of OpenSSL, which answers
/// each request with a page about the connection.
public final class TLSServer: Sendable {
  /// The certificate, to trust it.
  public let certificate: URL
  /// The SHA-256 of the certificate's key, in Base64.
  public let pin: String
  private let port: Int
  private let folder: URL
  private let process: Process
  private let output: Pipe
  private let input: Pipe?

  /// The folders of the servers that run, by their processes. A process that exits, as in an exit
  /// test, releases nothing: they would outlive it.
  private static let running: Locked<[Int32: URL]> = {
    atexit {
      for (process, folder) in TLSServer.running.current {
        kill(process, SIGKILL)
        try? FileManager.default.removeItem(at: folder)
      }
    }
    return Locked([:])
  }()

  /// Whether there is an OpenSSL on this machine.
  public static let isAvailable = (try? run("version")) != nil

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - name: the subject alternative name of its certificate, as OpenSSL has it.
  ///   - answers: whole answers, with their headers, by their paths, to give instead of the page.
  public convenience init(name: String = "IP:127.0.0.1", answers: [String: String]? = nil) async throws {
    let mode = answers == nil ? ["-www"] : ["-HTTP"]
    try await self.init(name: name, mode: mode, files: answers ?? [:], input: nil) { _ in }
  }

  /// Starts a server that speaks a protocol of the caller's.
  ///
  /// - Parameters:
  ///   - name: the name of the protocol, as TLS has it.
  ///   - listener: called with what comes from the client, between lines of text about the
  ///     connection.
  convenience init(speaking name: String, to listener: @escaping @Sendable (Data) -> Void) async throws {
    try await self.init(
      name: "IP:127.0.0.1", mode: ["-alpn", name], files: [:], input: Pipe(), listener: listener)
  }

  private convenience init(
    name: String, mode: [String], files: [String: String], input: Pipe?, listener: @escaping @Sendable (Data) -> Void
  ) async throws {
    let parts = try await onWorker { Result { try Parts(name: name, mode: mode, files: files) } }.get()
    // Not by reading until data comes: a failed process may leave the other end open in others.
    let (output, isOver) = (EventRecorder<String>(), "over")
    let pipe = Pipe()
    pipe.fileHandleForReading.readabilityHandler = { handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
      listener(data)
      output.record(data.isEmpty ? isOver : String(decoding: data, as: UTF8.self))
    }
    parts.process.standardOutput = pipe
    if let input { parts.process.standardInput = input }
    parts.process.terminationHandler = { _ in output.record(isOver) }
    try parts.process.run()
    await output.wait { $0.contains(isOver) || TLSServer.port(in: $0.joined()) != nil }
    guard let port = TLSServer.port(in: output.events.joined()) else { throw CocoaError(.executableLoad) }
    self.init(parts, port: port, pipe, input)
  }

  private init(_ parts: Parts, port: Int, _ output: Pipe, _ input: Pipe?) {
    (certificate, pin, folder, process) = (parts.certificate, parts.pin, parts.folder, parts.process)
    (self.port, self.output, self.input) = (port, output, input)
    TLSServer.running.withLock { $0[parts.process.processIdentifier] = parts.folder }
  }

  /// “ACCEPT 127.0.0.1:45185”
  private static func port(in text: String) -> Int? {
    text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first { $0.hasPrefix("ACCEPT ") }
      .flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
  }

  /// The parts that can be made without waiting for the server.
  private struct Parts {
    let folder, certificate: URL
    let pin: String
    let process: Process

    init(name: String, mode: [String], files: [String: String]) throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("TLSServer-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let key = folder.appendingPathComponent("key.pem")
      certificate = folder.appendingPathComponent("certificate.pem")
      try TLSServer.run(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
        "-addext", "subjectAltName=\(name)", "-keyout", key.path, "-out", certificate.path)
      let publicKey = folder.appendingPathComponent("key.der")
      let hash = folder.appendingPathComponent("key.sha256")
      try TLSServer.run("pkey", "-in", key.path, "-pubout", "-outform", "DER", "-out", publicKey.path)
      try TLSServer.run("dgst", "-sha256", "-binary", "-out", hash.path, publicKey.path)
      pin = try Data(contentsOf: hash).base64EncodedString()
      for (path, answer) in files { try Data(answer.utf8).write(to: folder.appendingPathComponent(path)) }
      process = TLSServer.process(
        ["s_server", "-accept", "127.0.0.1:0", "-key", key.path, "-cert", certificate.path] + mode)
      process.currentDirectoryURL = folder
    }
  }

  deinit {
    output.fileHandleForReading.readabilityHandler = nil
    TLSServer.running.withLock { $0[process.processIdentifier] = nil }
    // A thread that blocks all other signals started it, so it blocks them too.
    kill(process.processIdentifier, SIGKILL)
    try? FileManager.default.removeItem(at: folder)
  }

  /// Sends bytes to the client, which must not begin with a letter that OpenSSL takes for a
  /// command.
  func say(_ bytes: [UInt8]) {
    try? input?.fileHandleForWriting.write(contentsOf: bytes)
  }

  /// The address of the server.
  public var url: String { "https://127.0.0.1:\(port)/" }

  private static func process(_ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    return process
  }

  static func run(_ arguments: String...) throws {
    let process = process(arguments)
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
  }
}
#endif
