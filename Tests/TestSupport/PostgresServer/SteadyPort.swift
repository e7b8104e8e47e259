/// A port for a server that must get the same one again after it has ended.
public enum SteadyPort {
  /// How many ports to try: another server may have one.
  public static let attempts = 10

  /// A port below those that systems give to connections, and to servers that ask for any: one of
  /// these could be taken while the server is away.
  public static func random() -> UInt16 { .random(in: 10_000..<32_000) }
}
