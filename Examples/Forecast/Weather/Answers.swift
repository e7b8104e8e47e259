// What a server of this kind answers, in JSON: the shape is that of public forecast services.

/// The answer to `GET /search?q=…`.
struct SearchAnswer: Codable, Equatable, Sendable {
  var results: [Place]
  /// A name that may have been meant, if there are no results.
  var suggestion: String?
}

/// A place, and where it is.
struct Place: Codable, Equatable, Sendable {
  var name: String
  var country: String
  var latitude: Double
  var longitude: Double
  var timezone: String

  var title: String { "\(name), \(country)" }
}

/// The answer to `GET /forecast?latitude=…&longitude=…&days=…`. Values of the same index belong
/// together.
struct ForecastAnswer: Codable, Equatable, Sendable {
  struct Daily: Codable, Equatable, Sendable {
    var time: [String]
    var temperatureMax: [Double]
    var temperatureMin: [Double]
    var precipitationSum: [Double]

    enum CodingKeys: String, CodingKey {
      case time
      case temperatureMax = "temperature_2m_max"
      case temperatureMin = "temperature_2m_min"
      case precipitationSum = "precipitation_sum"
    }
  }

  struct Hourly: Codable, Equatable, Sendable {
    var time: [String]
    var temperature: [Double]

    enum CodingKeys: String, CodingKey {
      case time
      case temperature = "temperature_2m"
    }
  }

  var latitude: Double
  var longitude: Double
  var timezone: String
  var dailyUnits: [String: String]
  var daily: Daily
  var hourlyUnits: [String: String]
  var hourly: Hourly

  enum CodingKeys: String, CodingKey {
    case latitude, longitude, timezone, daily, hourly
    case dailyUnits = "daily_units"
    case hourlyUnits = "hourly_units"
  }
}

/// The answer to `POST /token`.
struct TokenAnswer: Codable, Equatable, Sendable {
  var accessToken: String
  var tokenType: String

  enum CodingKeys: String, CodingKey {
    case accessToken = "access_token"
    case tokenType = "token_type"
  }
}
