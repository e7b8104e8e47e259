/// Keeps the disk reserve of a database: see ``DiskReserve``. Belongs to the serial queue of the
/// database.
final class ReserveKeeper {
  private let reserve: DiskReserve
  private let configuration: DurableQueue.Configuration
  private var wasUsed: Bool
  private var madeAt: Int64?

  /// - Parameter wasUsed: whether opening the database used its room.
  init?(at location: DurableQueue.Location, _ configuration: DurableQueue.Configuration, wasUsed: Bool) {
    guard let reserve = DiskReserve(at: location, size: configuration.diskReserve) else { return nil }
    self.reserve = reserve
    self.configuration = configuration
    self.wasUsed = wasUsed
    if reserve.isKept || wasUsed { make() }
  }

  deinit { reserve.goWithDatabase() }

  /// Makes the reserve if it is missing or incomplete.
  func make() {
    if reserve.make() { configuration.protect(reserve.path) }
  }

  /// Does the same, at most once a minute: it may have been used, and there is room again; or
  /// another program has changed it.
  func makeNowAndThen(at now: Int64) {
    guard reserve.isKept || wasUsed else { return }
    if let madeAt, now >= madeAt, now - madeAt < 60_000 { return }
    madeAt = now
    make()
  }

  /// Frees its room. Returns whether there was some.
  func giveUp() -> Bool {
    guard reserve.giveUp() else { return false }
    wasUsed = true
    return true
  }
}
