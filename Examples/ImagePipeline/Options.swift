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
    store is busy. Shows what ran when. An image whose name begins with "damaged" cannot be read.

      --images COUNT  so many images with names of their own, besides those named; 6 unless any is named
      --html FILE     writes a page to look at in a browser
      --trace FILE    writes a trace for https://ui.perfetto.dev
      --text          prints a tree
      --help          prints this
    """

  private static let known: Arguments.Options = [
    "--images": "6", "--html": "pipeline.html", "--trace": "pipeline.json", "--text": nil, "--help": nil,
  ]

  init(_ arguments: [String]) throws(UsageError) {
    let parsed = try Arguments(arguments, options: Options.known, help: "ImagePipeline --help lists the options.")
    showsHelp = parsed.has("--help")
    html = parsed.value("--html")
    trace = parsed.value("--trace")
    printsText = parsed.has("--text")
    names = parsed.words
    let automatic = try parsed.integer("--images", in: 0...100_000) ?? (names.isEmpty ? 6 : 0)
    names += (0..<automatic).map { index in
      index % 5 == 3 ? "damaged-\(index + 1).ppm" : "photo-\(index + 1).ppm"
    }
  }
}
