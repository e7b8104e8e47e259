/// Runs `body` with a server, and stops the server afterwards.
public func withServer(
  keepsConnections: Bool = true, recordsRequests: Bool = true, readsBodies: Bool = true,
  _ body: (HTTPServer) async throws -> Void
) async throws {
  let server = try HTTPServer(
    keepsConnections: keepsConnections, recordsRequests: recordsRequests, readsBodies: readsBodies)
  do {
    try await body(server)
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}
