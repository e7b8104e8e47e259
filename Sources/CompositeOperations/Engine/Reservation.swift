/// What one operation holds or waits for; the operations inside it inherit the reservation.
class Reservation: @unchecked Sendable {  // set only once; see the subclasses
  /// The reservation of the parent composition.
  private(set) final var around: Reservation?

  init(around: Reservation?) {
    self.around = around
  }

  deinit {
    ReleaseList.release(&around)
  }
}
