import ExampleSupport
import Foundation

/// Makes forecasts from climates: the same ones for the same seed, city and day.
struct WeatherMaker: Sendable {
  let seed: UInt64
  let firstDay: Day

  func forecast(for city: City, days: Int) -> ForecastAnswer {
    var random = SplitMix(seed: seed ^ SplitMix.hash(city.place.title))
    var daily = ForecastAnswer.Daily(time: [], temperatureMax: [], temperatureMin: [], precipitationSum: [])
    var hourly = ForecastAnswer.Hourly(time: [], temperature: [])
    // Warmer or colder than usual, which lasts for days.
    var mood = Double.random(in: -3...3, using: &random)
    for number in 0..<days {
      let day = firstDay.advanced(by: number)
      mood = mood * 0.7 + Double.random(in: -2...2, using: &random)
      let isWet = Int.random(in: 0..<100, using: &random) < city.wetDays
      let rain = isWet ? city.rain * Double.random(in: 0.1...2, using: &random) : 0
      let swing = city.swing * (isWet ? 0.7 : 1.1)
      let temperatures = (0..<24).map { hour in
        // Warmest at three in the afternoon.
        let course = cos(2 * Double.pi * Double(hour - 15) / 24)
        let bumps = Double.random(in: -0.4...0.4, using: &random)
        return rounded(mean(of: city, on: day) + mood + swing / 2 * course + bumps)
      }
      daily.time.append("\(day)")
      daily.temperatureMax.append(temperatures.max() ?? 0)
      daily.temperatureMin.append(temperatures.min() ?? 0)
      daily.precipitationSum.append(rounded(rain))
      hourly.time += (0..<24).map { "\(day)T\($0 < 10 ? "0" : "")\($0):00" }
      hourly.temperature += temperatures
    }
    return ForecastAnswer(
      latitude: city.place.latitude, longitude: city.place.longitude, timezone: city.place.timezone,
      dailyUnits: [
        "time": "iso8601", "temperature_2m_max": "°C", "temperature_2m_min": "°C", "precipitation_sum": "mm",
      ],
      daily: daily, hourlyUnits: ["time": "iso8601", "temperature_2m": "°C"], hourly: hourly)
  }

  private func mean(of city: City, on day: Day) -> Double {
    let warmestDay = city.place.latitude < 0 ? 20.0 : 200.0
    let course = cos(2 * Double.pi * (Double(day.dayOfYear) - warmestDay) / 365)
    return (city.warmest + city.coldest) / 2 + (city.warmest - city.coldest) / 2 * course
  }

  private func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
