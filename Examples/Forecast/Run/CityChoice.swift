import Foundation

/// Picks the place that the user meant from the places that were found.
struct CityChoice: Equatable, Sendable {
  /// What was written: a name or the beginning of one and, after a comma, a country.
  let text: String

  /// What the server is asked for.
  var name: String { parts.name }

  private var parts: (name: String, country: String) {
    let parts = text.split(separator: ",", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
    return (parts.first ?? text, parts.count > 1 ? parts[1] : "")
  }

  func pick(from answer: SearchAnswer) throws(ForecastFailure) -> Place {
    let country = parts.country.folded
    let found = answer.results.filter { $0.country.folded.hasPrefix(country) }
    guard let first = found.first else {
      let other = answer.results.first.map(\.title)
      throw .unknownCity(text, suggestion: other ?? answer.suggestion)
    }
    guard found.count > 1 else { return first }
    throw .severalCities(text, found.map(\.title))
  }
}
