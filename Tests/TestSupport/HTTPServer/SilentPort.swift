/// A port on 127.0.0.1 that never answers, for as long as this object lives.
///
/// Either the system accepts connections, and nothing reads from them, or no connection is ever
/// established.
public final class SilentPort: Sendable {
  /// The port.
  public let port: UInt16

  private let descriptor: Int32
  private let fillers: [Int32]

  /// Takes a port that the system chooses.
  ///
  /// - Parameter takesConnections: Whether clients are connected. If not, they wait: the port's
  ///   backlog is full.
  public init(takesConnections: Bool) throws {
    let (descriptor, port) = try HTTPSocket.listen(backlog: takesConnections ? 256 : 0)
    self.descriptor = descriptor
    self.port = port
    // One has room, and some systems take one more.
    fillers = takesConnections ? [] : try (0..<3).map { _ in try HTTPSocket.connect(to: port) }
  }

  deinit {
    for filler in fillers { HTTPSocket.closeDescriptor(filler) }
    HTTPSocket.closeDescriptor(descriptor)
  }

  /// The address of a path.
  public func url(_ path: String = "/", scheme: String = "http") -> String {
    "\(scheme)://127.0.0.1:\(port)\(path)"
  }
}
