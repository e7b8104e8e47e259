/// A port on 127.0.0.1 where every connection is refused, for as long as this object lives.
///
/// The port is taken, so that no server of another test can come to listen there.
public final class RefusingPort: Sendable {
  /// The port.
  public let port: UInt16

  private let descriptor: Int32

  /// Takes a port that the system chooses.
  public init() throws {
    (descriptor, port) = try HTTPSocket.bind()
  }

  deinit {
    HTTPSocket.closeDescriptor(descriptor)
  }

  /// The address of a path that cannot be asked for.
  public func url(_ path: String = "/") -> String {
    "http://127.0.0.1:\(port)\(path)"
  }
}
