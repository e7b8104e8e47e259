/// A city that the bundled server knows, with its climate.
struct City: Sendable {
  let place: Place
  /// The means of the warmest and the coldest time of the year, in °C.
  let warmest, coldest: Double
  /// How much warmer the afternoon is than the end of the night.
  let swing: Double
  /// How many days of a hundred are wet, and how much falls on one, in mm.
  let wetDays: Int
  let rain: Double

  private init(
    _ name: String, _ country: String, _ latitude: Double, _ longitude: Double, _ timezone: String,
    warmest: Double, coldest: Double, swing: Double, wetDays: Int, rain: Double
  ) {
    place = Place(name: name, country: country, latitude: latitude, longitude: longitude, timezone: timezone)
    self.warmest = warmest
    self.coldest = coldest
    self.swing = swing
    self.wetDays = wetDays
    self.rain = rain
  }

  /// All of them, by name.
  static let all = [
    City(
      "Auckland", "New Zealand", -36.85, 174.76, "Pacific/Auckland",
      warmest: 20, coldest: 11, swing: 7, wetDays: 37, rain: 8),
    City(
      "Bangkok", "Thailand", 13.75, 100.5, "Asia/Bangkok", warmest: 31, coldest: 27, swing: 9, wetDays: 36, rain: 11),
    City("Berlin", "Germany", 52.52, 13.41, "Europe/Berlin", warmest: 20, coldest: 1, swing: 9, wetDays: 29, rain: 5),
    City(
      "Bogotá", "Colombia", 4.61, -74.08, "America/Bogota", warmest: 15, coldest: 13, swing: 11, wetDays: 48, rain: 6),
    City("Cairo", "Egypt", 30.06, 31.25, "Africa/Cairo", warmest: 29, coldest: 14, swing: 12, wetDays: 4, rain: 2),
    City(
      "Cape Town", "South Africa", -33.93, 18.42, "Africa/Johannesburg",
      warmest: 21, coldest: 12, swing: 10, wetDays: 21, rain: 6),
    City(
      "Chicago", "United States", 41.85, -87.65, "America/Chicago",
      warmest: 24, coldest: -4, swing: 10, wetDays: 34, rain: 8),
    City("Delhi", "India", 28.65, 77.23, "Asia/Kolkata", warmest: 34, coldest: 14, swing: 12, wetDays: 14, rain: 14),
    City("Dublin", "Ireland", 53.33, -6.25, "Europe/Dublin", warmest: 16, coldest: 5, swing: 7, wetDays: 41, rain: 5),
    City(
      "Helsinki", "Finland", 60.17, 24.94, "Europe/Helsinki", warmest: 18, coldest: -5, swing: 6, wetDays: 31, rain: 5),
    City("Lisbon", "Portugal", 38.72, -9.13, "Europe/Lisbon", warmest: 24, coldest: 12, swing: 9, wetDays: 21, rain: 8),
    City(
      "London", "United Kingdom", 51.51, -0.13, "Europe/London",
      warmest: 19, coldest: 5, swing: 8, wetDays: 30, rain: 5),
    City(
      "Mexico City", "Mexico", 19.43, -99.13, "America/Mexico_City",
      warmest: 19, coldest: 14, swing: 14, wetDays: 37, rain: 6),
    City(
      "Montreal", "Canada", 45.51, -73.59, "America/Toronto",
      warmest: 22, coldest: -9, swing: 9, wetDays: 44, rain: 6),
    City("Nairobi", "Kenya", -1.28, 36.82, "Africa/Nairobi", warmest: 20, coldest: 17, swing: 12, wetDays: 27, rain: 9),
    City("Oslo", "Norway", 59.91, 10.75, "Europe/Oslo", warmest: 18, coldest: -4, swing: 8, wetDays: 31, rain: 6),
    City("Paris", "France", 48.85, 2.35, "Europe/Paris", warmest: 21, coldest: 5, swing: 9, wetDays: 30, rain: 6),
    City(
      "Reykjavík", "Iceland", 64.14, -21.9, "Atlantic/Reykjavik",
      warmest: 12, coldest: 0, swing: 5, wetDays: 41, rain: 5),
    City(
      "Santiago", "Chile", -33.46, -70.65, "America/Santiago",
      warmest: 21, coldest: 8, swing: 15, wetDays: 9, rain: 10),
    City(
      "Santiago de Compostela", "Spain", 42.88, -8.55, "Europe/Madrid",
      warmest: 19, coldest: 8, swing: 9, wetDays: 38, rain: 12),
    City(
      "Sydney", "Australia", -33.87, 151.21, "Australia/Sydney",
      warmest: 23, coldest: 13, swing: 8, wetDays: 27, rain: 10),
    City("Tokyo", "Japan", 35.69, 139.69, "Asia/Tokyo", warmest: 27, coldest: 5, swing: 8, wetDays: 31, rain: 12),
    City("Valencia", "Spain", 39.47, -0.38, "Europe/Madrid", warmest: 26, coldest: 12, swing: 9, wetDays: 12, rain: 10),
    City(
      "Valencia", "Venezuela", 10.16, -68.01, "America/Caracas",
      warmest: 27, coldest: 25, swing: 11, wetDays: 30, rain: 9),
  ]
}
