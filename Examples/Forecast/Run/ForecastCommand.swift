import CompositeOperations
import ExampleSupport
import Foundation
import OperationTimelines

/// The program: reads the command line, asks, prints, and tells the exit status.
struct ForecastCommand {
  enum ExitStatus {
    static let good: Int32 = 0
    static let failed: Int32 = 1
    static let usage: Int32 = 64
  }

  let arguments: [String]

  func run() async -> Int32 {
    do {
      let options = try OptionParser.parse(arguments)
      guard !options.showsHelp else {
        try StandardStream.output.print(Help.text)
        return ExitStatus.good
      }
      return try await show(options)
    } catch let error as UsageError {
      complain(error)
      return ExitStatus.usage
    } catch {
      complain(error)
      return ExitStatus.failed
    }
  }

  private func show(_ options: Options) async throws -> Int32 {
    let bundled = options.server == nil ? try makeServer(options) : nil
    guard let url = options.server ?? bundled?.url else { preconditionFailure("There is one server or the other.") }
    let log = options.verbose ? RequestLog { Self.write("\(Wording.plain($0))\n") } : nil
    let client = WeatherClient(server: url, rate: options.rate, log: log)
    let run = ForecastRun(client: client, days: options.days, chart: OutputDevice.chart)
    let operation = run.makeOperation(for: options.cities)
    let recorder = options.timeline.map { _ in TimelineRecorder() }
    recorder?.attach(to: operation)
    let reports = try await operation.run()
    await client.finish()
    withExtendedLifetime(bundled) {}
    let status = try print(reports)
    try write(recorder?.timeline, options)
    return status
  }

  /// Forecasts come before failures.
  private func print(_ reports: [ForecastRun.Report]) throws -> Int32 {
    let texts = reports.compactMap { try? $0.get() }
    if !texts.isEmpty { try StandardStream.output.print(texts.joined(separator: "\n")) }
    var complaints: [ForecastFailure] = []
    for case .failure(let failure) in reports where !complaints.contains(failure) { complaints.append(failure) }
    for complaint in complaints { complain(complaint) }
    return complaints.isEmpty ? ExitStatus.good : ExitStatus.failed
  }

  private func makeServer(_ options: Options) throws -> WeatherServer {
    ProxyExceptions.addThisMachine()
    return try WeatherServer(
      WeatherService(
        seed: options.seed, firstDay: options.date ?? Day(Date()), tokenUses: options.tokenUses))
  }

  private func write(_ timeline: Timeline?, _ options: Options) throws {
    guard let timeline, let path = options.timeline else { return }
    let page = timeline.html(title: "Forecast \(options.cities.joined(separator: " "))")
    try OutputFile.write(page, to: URL(fileURLWithPath: path), as: "timeline")
  }

  private func complain(_ error: any Error) {
    // The names in it may come from strangers, such as a server.
    Self.write("Forecast: \(Wording.plainLines("\(error)"))\n")
  }

  /// A failure to write does not matter: there is no other place to report it.
  private static func write(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
