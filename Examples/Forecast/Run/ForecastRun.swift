import CompositeOperations
import Foundation
import HTTPOperations
import PipelineOperations

/// The whole run as one operation: a pipeline for each city, in parallel.
struct ForecastRun: Sendable {
  typealias Report = Result<String, ForecastFailure>

  let client: WeatherClient
  let days: Int
  let chart: Chart

  /// Search, pick, load, decode, draw.
  var pipeline: Pipeline<String, String> {
    let found = Pipeline(of: String.self)
      .then(Transform(makingOperation: { client.search(CityChoice(text: $0).name) }).named("search"))
      .then { $0.body }
      .then(DecodeJSON(SearchAnswer.self))
    return Pipeline(of: String.self)
      .then(
        Transform(makingOperation: { text in
          found.operation(for: text).map { try CityChoice(text: text).pick(from: $0) }
        }).named("pick")
      )
      .then(
        Transform(makingOperation: { place in
          weather.operation(for: place).map { try chart.text(for: place, $0) }
        }).named("show")
      )
      .named("forecast")
  }

  private var weather: Pipeline<Place, ForecastAnswer> {
    Pipeline(of: Place.self)
      .then(Transform(makingOperation: { client.forecast(for: $0, days: days) }).named("load"))
      .then { $0.body }
      .then(DecodeJSON(ForecastAnswer.self))
  }

  /// Makes the operation that gives a report for each city, in their order. A city that fails does
  /// not end the others.
  func makeOperation(for cities: [String]) -> SimpleOperation<[Report]> {
    let pipeline = pipeline
    let all = forEach(cities, maxConcurrent: 8) { city in
      let run = pipeline.operation(for: city)
      run.name = city
      let report = run.map { Report.success($0) }
        .recover { error in
          SimpleOperation<Report> { $0.finish(with: .failure(ForecastFailure(error, server: client.server))) }
        }
      report.name = "report \(city)"
      return report
    }
    all.name = "Forecast"
    return all
  }
}
