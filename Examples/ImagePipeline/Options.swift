import ExampleSupport

/// What the command line asks for.
struct Options {
  var names: [String] = []
  var html: String?
  var trace: String?
  var printsText = false
  var showsHelp = false

  static let help = """
    Usage: ImagePipeline [options] [NAME…]

    Makes an image for each NAME, scales it to three sizes, compresses these, and stores them, with retries where the
    store is busy. Shows what ran when. An image whose name begins with "damaged" can not be read.

      --images COUNT  so many images with names of their own, besides those named; 6 unless any is named
      --html FILE     writes a page to look at in a browser
      --trace FILE    writes a trace for https://ui.perfetto.dev
      --text          prints a tree
      --help          prints this
    """

  init(_ arguments: [String]) throws {
    var count: Int?
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--html": html = try Options.value(of: argument, &rest)
      case "--trace": trace = try Options.value(of: argument, &rest)
      case "--text": printsText = true
      case "--help", "-h": showsHelp = true
      case "--images":
        let value = try Options.value(of: argument, &rest)
        guard let number = Int(value), number >= 0 else {
          throw UsageError(
            problem: "--images was given “\(value)”, which is no number of images.", remedy: "Use a number, 6 say.")
        }
        count = number
      case _ where argument.hasPrefix("--"):
        let known = ["--html", "--trace", "--text", "--images", "--help"]
        let nearest = Suggestion.nearest(to: argument, among: known).map { "Did you mean \($0)?" }
        throw UsageError(problem: "There is no option \(argument).", remedy: nearest ?? "--help lists the options.")
      default: names.append(argument)
      }
    }
    let automatic = count ?? (names.isEmpty ? 6 : 0)
    names += (0..<automatic).map { index in
      index % 5 == 3 ? "damaged-\(index + 1).ppm" : "photo-\(index + 1).ppm"
    }
  }

  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
    guard let value = rest.popFirst() else {
      throw UsageError(problem: "\(option) needs a value.", remedy: "--help shows which.")
    }
    return value
  }
}
