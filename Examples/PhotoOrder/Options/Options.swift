/// What the command line asks for.
struct Options: Equatable, Sendable {
  /// The most photos of one order, so that the table fits on a screen.
  static let mostPhotos = 9

  /// The photos to order, as they were written; none for samples.
  var photos: [String] = []

  /// The folder that the order is put into. It must not exist.
  var output = "photo-order"

  /// The file that the graph is drawn in; `order.mmd` in the output folder when nil.
  var mermaid: String?

  /// The title of the order.
  var title = "Holiday photos"

  /// The file with commands; `-` for the standard input, nil for keys.
  var script: String?

  /// How likely each attempt of a task that works fails.
  var failure = 0.0

  /// What decides which attempts fail; made up when nil.
  var seed: UInt64?

  /// The width of sample photos, in pixels.
  var sampleWidth = 1_600

  /// Whether lines are printed, also on a terminal.
  var plain = false

  /// Whether only the help is to be printed.
  var showsHelp = false
}
