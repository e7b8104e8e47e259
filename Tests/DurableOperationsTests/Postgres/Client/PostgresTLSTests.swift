#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// TLS is libpq's. Its refusals are reported.
@Suite(
  .timeLimit(.minutes(30)), .needsPostgres, .enabled(if: TLSServer.isAvailable, "There is no OpenSSL on this machine")
) struct PostgresTLSTests {
  @Test func queueOverTLS_trustsTheCertificateOfTheServerAlone() async throws {
    let server = try await PostgresServer.own()
    let certificate = try await server.useTLS(name: "localhost")
    let url = server.secureURL(trusting: certificate)
    let options = PostgresOptions(statementTimeout: .seconds(1200))
    let queue = try await onWorker { Result { try DurableQueue(location: .postgres(url, options)) } }.get()
    let ran = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ async throws in ran.record(job.number) }
    queue.start()
    try await queue.enqueue(Count(number: 7))
    await ran.wait(forCount: 1)
    await queue.stop()
    // Rounds, what is asked, and the listener.
    let clear =
      "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'durable' AND NOT ssl"
    let inTLS = clear.replacing("NOT ssl", with: "ssl")
    #expect(try server.query(clear) == "0")
    #expect(try server.query(inTLS) != "0")
    let connection = try await onWorker { Result { try PostgresConnection.connect(PostgresConfiguration(url: url)) } }
      .get()
    #expect(connection.usesTLS)

    let other = try await server.makeOtherCertificate()
    let error = await Self.error(of: server.secureURL(trusting: other))
    #expect(error?.code == .cannotConnect)
    #expect(error?.description.contains("certificate verify failed") == true, "\(String(describing: error))")
    #expect(error?.description.contains("localhost:\(server.port)/postgres") == true)
    let missing = await Self.error(of: server.secureURL(trusting: "/none/ca.pem"))
    #expect(missing?.code == .cannotConnect)
    #expect(missing?.description.contains("/none/ca.pem") == true, "\(String(describing: missing))")
  }

  @Test func certificateOfAnotherName_isRefused() async throws {
    let server = try await PostgresServer.own()
    let certificate = try await server.useTLS(name: "elsewhere.example.org")
    let error = await Self.error(of: server.secureURL(trusting: certificate))
    #expect(error?.code == .cannotConnect)
    #expect(error?.description.contains("elsewhere.example.org") == true, "\(String(describing: error))")
    // Who asks for less gets it.
    let weaker = await Self.error(of: server.secureURL(trusting: certificate, mode: "verify-ca"))
    #expect(weaker == nil)
  }

  @Test func serverWithoutTLS_isRefusedIfItIsNeeded() async throws {
    let server = try await PostgresServer.shared
    let error = await Self.error(of: "postgresql://durable@localhost:\(server.port)/postgres?sslmode=require")
    #expect(error?.code == .cannotConnect)
    #expect(error?.description.contains("SSL") == true, "\(String(describing: error))")
  }

  private static func error(of url: String) async -> DatabaseError? {
    await onWorker {
      do {
        _ = try DurableQueue(location: .postgres(url))
        return nil
      } catch {
        return error as? DatabaseError
      }
    }
  }
}
#endif
