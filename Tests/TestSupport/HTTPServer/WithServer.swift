/// Runs `body` with a server, and stops the server afterwards.
public func withServer(keepsConnections: Bool = true, _ body: (HTTPServer) async throws -> Void) async throws {
  let server = try HTTPServer(keepsConnections: keepsConnections)
  do {
    try await body(server)
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}
