import ExampleSupport
import Foundation

/// Draws a forecast as text.
struct Chart: Equatable, Sendable {
  /// How many characters a line may have.
  var width = 80
  var usesColour = false

  /// A line for the place, one for the hours of the first day, and one for each day.
  ///
  /// - Throws: `inconsistentForecast` if the lists differ in length, or are empty;
  ///   `impossibleForecast` if a value is impossible.
  func text(for place: Place, _ forecast: ForecastAnswer) throws(ForecastFailure) -> String {
    let (daily, hourly) = (forecast.daily, forecast.hourly)
    let count = daily.time.count
    guard count > 0,
      [daily.temperatureMax, daily.temperatureMin, daily.precipitationSum].allSatisfy({ $0.count == count }),
      hourly.temperature.count == hourly.time.count
    else { throw .inconsistentForecast }
    let values = daily.temperatureMax + daily.temperatureMin + daily.precipitationSum + hourly.temperature
    guard values.allSatisfy({ abs($0) < 100_000 }), zip(daily.temperatureMin, daily.temperatureMax).allSatisfy(<=)
    else { throw .impossibleForecast }
    // What a server calls things may hold what a terminal would obey.
    let unit = Wording.plain(forecast.dailyUnits["temperature_2m_max"] ?? "°C")
    let rainUnit = Wording.plain(forecast.dailyUnits["precipitation_sum"] ?? "mm")
    let lowest = daily.temperatureMin.min() ?? 0
    let highest = max(daily.temperatureMax.max() ?? 0, lowest + 1)

    var lines = ["\(Wording.plain(place.title))  \(Self.coordinates(of: place))"]
    let hours = hourly.temperature.prefix(24)
    if hours.count > 1 { lines.append("  \(Self.padded("by the hour", 17)) \(Self.curve(Array(hours)))") }
    let barWidth = min(50, max(8, width - 42))
    for index in 0..<count {
      let (low, high) = (daily.temperatureMin[index], daily.temperatureMax[index])
      func column(_ value: Double) -> Int {
        Int(((value - lowest) / (highest - lowest) * Double(barWidth - 1)).rounded())
      }
      let (start, end) = (min(column(low), column(high)), max(column(low), column(high)))
      let bar = String(repeating: "█", count: end - start + 1)
      let day = Day(daily.time[index])?.shortText ?? Wording.plain(daily.time[index])
      let rain = daily.precipitationSum[index]
      let line =
        "  \(Self.padded(day, 10)) \(Self.aligned(low, 6)) "
        + String(repeating: "·", count: start) + coloured(bar, (low + high) / 2)
        + String(repeating: "·", count: barWidth - 1 - end)
        + " \(Self.aligned(high, 5)) \(unit)" + (rain > 0 ? " \(Self.aligned(rain, 6)) \(rainUnit)" : "")
      lines.append(line)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func coloured(_ text: String, _ temperature: Double) -> String {
    guard usesColour else { return text }
    let colour =
      switch temperature {
      case ..<0: 34
      case ..<10: 36
      case ..<20: 32
      case ..<28: 33
      default: 31
      }
    return "\u{1B}[\(colour)m\(text)\u{1B}[0m"
  }

  /// A character for each value, the higher the greater.
  static func curve(_ values: [Double]) -> String {
    let marks = Array("▁▂▃▄▅▆▇█")
    guard let lowest = values.min(), let highest = values.max() else { return "" }
    return String(
      values.map { value in
        guard highest > lowest else { return marks[0] }
        return marks[Int((value - lowest) / (highest - lowest) * Double(marks.count - 1) + 0.5)]
      })
  }

  private static func coordinates(of place: Place) -> String {
    func degrees(_ value: Double, _ positive: String, _ negative: String) -> String {
      "\(abs(value))° \(value < 0 ? negative : positive)"
    }
    return degrees(place.latitude, "N", "S") + " " + degrees(place.longitude, "E", "W")
  }

  private static func aligned(_ value: Double, _ width: Int) -> String {
    let tenths = Int((abs(value) * 10).rounded())
    let text = (value < 0 && tenths > 0 ? "-" : "") + "\(tenths / 10).\(tenths % 10)"
    return String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
