import ExampleSupport
import Foundation
import WorkflowOperations

/// The program: reads the command line, runs the order, and tells the exit status.
struct PhotoOrderCommand {
  enum ExitStatus {
    static let complete: Int32 = 0
    static let incomplete: Int32 = 1
    static let usage: Int32 = 2
  }

  let arguments: [String]

  func run() async -> Int32 {
    let output = Output()
    var status: Int32
    do {
      let options = try OptionParser.parse(arguments)
      if options.showsHelp {
        output.write(Help.text)
        status = ExitStatus.complete
      } else {
        status = try await order(options, output)
      }
    } catch {
      Terminal.complain("PhotoOrder: \(error)\n")
      return ExitStatus.usage
    }
    if let failure = output.failure, !failure.isBrokenPipe {
      Terminal.complain("PhotoOrder: \(failure)\n")
      status = max(status, ExitStatus.incomplete)
    }
    return status
  }

  private func order(_ options: Options, _ output: Output) async throws(UsageError) -> Int32 {
    let draws = Terminal.canDraw && !options.plain
    let preparation = try Preparation(options, hasKeys: draws && Terminal.hasKeys)
    let seed = options.seed ?? UInt64.random(in: 0...9_999)
    introduce(preparation, options, seed: seed, output)

    let bench = Workbench(failures: FailurePlan(probability: options.failure, seed: seed))
    let order = OrderWorkflow(
      title: options.title, folder: options.output, photoCount: preparation.photos.count, bench: bench)
    let (inputs, send) = AsyncStream.makeStream(of: Session.Input.self, bufferingPolicy: .unbounded)
    let feed = EventFeed(order.workflow) { send.yield(.notice($0)) }
    order.workflow.delegate = feed
    bench.holds.whenStopped = { send.yield(.stopped) }
    let signals = await Signals(end: { send.yield(.signal($0)) }, redraw: { send.yield(.redraw) })

    let desk = Desk(order, bench: bench, paths: preparation.photos, feed: feed)
    let isUnicode = Terminal.speaksUnicode
    let hasKeys = preparation.script == nil
    let view: any View =
      draws ? LiveView(output, keys: hasKeys ? Self.keys(arrows: isUnicode ? "↑ ↓" : "j k") : []) : PlainView(output)
    let session = Session(
      desk, inputs: inputs, view: view, symbols: isUnicode ? .unicode : .ascii,
      script: preparation.script.map { ScriptRun($0.lines, name: $0.name) })
    let devices = Devices(hasKeys: hasKeys, draws: draws, send: send)
    let end = await session.run()
    devices.close()
    withExtendedLifetime((signals, feed)) {}
    return await conclude(end, order, preparation, feed, output)
  }

  private func introduce(_ preparation: Preparation, _ options: Options, seed: UInt64, _ output: Output) {
    if preparation.hasSamples {
      output.write("No photos were given: these are made up. \(preparation.photos.joined(separator: ", "))\n")
    }
    if preparation.script != nil, options.script == nil {
      output.write("No terminal for keys: every condition is fulfilled. --script FILE gives other commands.\n")
    }
    if options.failure > 0 { output.write("Attempts fail as --fail \(options.failure) --seed \(seed) decides.\n") }
  }

  /// Writes the graph, and tells how it all ended.
  private func conclude(
    _ end: Session.End, _ order: OrderWorkflow, _ preparation: Preparation, _ feed: EventFeed, _ output: Output
  ) async -> Int32 {
    if let receipt = order.receipt.result {
      let bytes = receipt.photos.map(\.bytes).reduce(0, +)
      output.write("Ordered: \(receipt.photos.count) photos with \(bytes) bytes, on paper: \(receipt.metadata.paper)\n")
    }
    for (index, summary) in await feed.summaries().enumerated() { output.write("Run \(index + 1) \(summary.text)\n") }
    var status = ExitStatus.complete
    do {
      try OutputFile.write(Data(end.graph.utf8), to: preparation.mermaid)
      output.write("The graph is in \(preparation.mermaid)\n")
    } catch {
      Terminal.complain("PhotoOrder: \(error)\n")
      status = ExitStatus.incomplete
    }
    if let failure = end.failure {
      Terminal.complain("PhotoOrder: \(failure)\n")
      status = ExitStatus.incomplete
    }
    if !end.outcome.isEmpty {
      Terminal.complain("PhotoOrder: \(end.outcome)\n")
      status = ExitStatus.incomplete
    }
    return end.signal.map { 128 + $0 } ?? status
  }

  /// What is told below the table, in lines of less than 80 characters.
  private static func keys(arrows: String) -> [String] {
    [
      "Enter next step  s start  c cancel  r retry  x reset  f fulfil  n refuse  h hold",
      "\(arrows) 1-9 choose  S C R X start, cancel, retry, reset all  q leave",
    ]
  }
}
