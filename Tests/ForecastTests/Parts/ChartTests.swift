import Foundation
import Testing

@testable import Forecast

@Suite(.timeLimit(.minutes(30))) struct ChartTests {
  private let place = Place(name: "Here", country: "Somewhere", latitude: -1.5, longitude: 2, timezone: "UTC")

  private func forecast(
    low: [Double] = [-5, 0], high: [Double] = [5, 10], rain: [Double] = [0, 3.25]
  ) -> ForecastAnswer {
    ForecastAnswer(
      latitude: -1.5, longitude: 2, timezone: "UTC",
      dailyUnits: ["temperature_2m_max": "°C", "precipitation_sum": "mm"],
      daily: .init(
        time: ["2026-03-29", "2026-03-30"], temperatureMax: high, temperatureMin: low, precipitationSum: rain),
      hourlyUnits: [:], hourly: .init(time: ["a", "b", "c"], temperature: [1, 2, 3]))
  }

  @Test func chart_showsEachDayOnTheSameScale() throws {
    #expect(
      try Chart(width: 58).text(for: place, forecast()) == """
        Here, Somewhere  1.5° S 2.0° E
          by the hour       ▁▅█
          Sun 29 Mar   -5.0 ███████████·····   5.0 °C
          Mon 30 Mar    0.0 ·····███████████  10.0 °C    3.3 mm

        """)
  }

  @Test func whatAServerCallsThings_isShownWithMarksForWhatATerminalWouldObey() throws {
    let place = Place(
      name: "He\u{1B}[2Jre", country: "Some\nwhere", latitude: -1.5, longitude: 2, timezone: "UTC")
    var forecast = forecast()
    forecast.dailyUnits = ["temperature_2m_max": "\u{1B}C", "precipitation_sum": "\u{1B}mm"]
    forecast.daily.time[1] = "\u{1B}day"
    #expect(
      try Chart(width: 58).text(for: place, forecast) == """
        He\u{FFFD}[2Jre, Some where  1.5° S 2.0° E
          by the hour       ▁▅█
          Sun 29 Mar   -5.0 ███████████·····   5.0 \u{FFFD}C
          \u{FFFD}day          0.0 ·····███████████  10.0 \u{FFFD}C    3.3 \u{FFFD}mm

        """)
  }

  @Test(arguments: [40, 60, 80, 200]) func lines_areNoLongerThanTheirWidth(_ width: Int) throws {
    let lines = try Chart(width: width).text(for: place, forecast()).split(separator: "\n")
    // Below 50 characters nothing sensible fits.
    #expect(lines.allSatisfy { $0.count <= max(50, width) }, "\(lines)")
  }

  @Test func colours_areThereOnlyIfWanted() throws {
    #expect(try !Chart().text(for: place, forecast()).contains("\u{1B}"))
    let coloured = try Chart(usesColour: true).text(for: place, forecast(low: [-9, 29], high: [-1, 31]))
    #expect(coloured.contains("\u{1B}[34m") && coloured.contains("\u{1B}[31m"))
    #expect(coloured.components(separatedBy: "\u{1B}[0m").count == 3)
  }

  @Test func daysThatAreAllTheSame_areDrawnToo() throws {
    #expect(try Chart().text(for: place, forecast(low: [3, 3], high: [3, 3])).contains("█"))
    #expect(Chart.curve([2, 2]) == "▁▁")
    #expect(Chart.curve([]).isEmpty)
  }

  @Test func listsOfDifferentLengths_areAFailure() {
    #expect(throws: ForecastFailure.inconsistentForecast) { try Chart().text(for: place, forecast(rain: [1])) }
    #expect(throws: ForecastFailure.inconsistentForecast) { try Chart().text(for: place, forecast(low: [], high: [])) }
  }

  @Test(arguments: [([100.0, 0], [0.0, 1]), ([0, 0], [1e19, 1]), ([-1e308, 0], [1e308, 1])])
  func temperaturesThatAreNone_areAFailure(_ low: [Double], _ high: [Double]) {
    #expect(throws: ForecastFailure.impossibleForecast) {
      _ = try Chart().text(for: place, forecast(low: low, high: high))
    }
  }

  @Test(arguments: ["2026-3-29", "2026-02-30", "26-03-29", "2026-03-29T00:00", "today", "", "-026-03-29"])
  func textThatIsNoDay_isNone(_ text: String) {
    #expect(Day(text) == nil)
  }

  @Test func days_goOnIntoTheNextMonthAndYear() throws {
    let day = try #require(Day("2027-12-31"))
    #expect(day.advanced(by: 1).description == "2028-01-01")
    #expect(day.advanced(by: 60).description == "2028-02-29")
    #expect(day.shortText == "Fri 31 Dec")
    #expect(day.dayOfYear == 365)
  }
}
