#if os(Linux) || os(macOS)
import Foundation

extension PostgresServer {
  /// Makes the server use TLS, with a self-signed certificate.
  ///
  /// - Parameter name: whose certificate it is.
  /// - Returns: the path of the certificate, to trust it.
  public func useTLS(name: String) async throws -> String {
    try await onWorker { Result { try self.makeCertificate(of: name, "server") } }.get()
    try await onWorker {
      Result {
        for (setting, value) in [
          ("ssl_cert_file", "\(self.folder)/server.pem"), ("ssl_key_file", "\(self.folder)/server.key"), ("ssl", "on"),
        ] {
          try self.query("ALTER SYSTEM SET \(setting) = '\(value)'")
        }
      }
    }.get()
    try await restart()
    return "\(folder)/server.pem"
  }

  /// Makes another certificate. Returns its path.
  public func makeOtherCertificate() async throws -> String {
    try await onWorker { Result { try self.makeCertificate(of: "other", "other") } }.get()
    return "\(folder)/other.pem"
  }

  private func makeCertificate(of name: String, _ file: String) throws {
    let key = "\(folder)/\(file).key"
    try TLSServer.run(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
      "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-keyout", key, "-out", "\(folder)/\(file).pem")
    // The server refuses a key that others may read.
    chmod(key, 0o600)
    if let owner = PostgresPrograms.owner, let user = getpwnam(owner) {
      for path in [key, "\(folder)/\(file).pem"] { chown(path, user.pointee.pw_uid, user.pointee.pw_gid) }
    }
  }

  /// The URL of a database over TLS, at the name that the machine has for itself.
  ///
  /// - Parameter certificate: the path of the one that is trusted.
  public func secureURL(_ database: String = "postgres", trusting certificate: String, mode: String = "verify-full")
    -> String
  {
    "postgresql://durable@localhost:\(port)/\(database)?sslmode=\(mode)&sslrootcert=\(certificate)"
  }
}
#endif
