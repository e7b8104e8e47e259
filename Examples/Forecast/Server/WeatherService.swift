import ExampleSupport
import Foundation

/// What the bundled server answers: a value, which changes with each request.
///
/// A token is good for a number of answers; then the client needs a new one. About a third of all
/// addresses are too busy to answer the first time; which, depends on the seed alone.
struct WeatherService: Sendable {
  private let maker: WeatherMaker
  private let tokenUses: Int
  private var token: String?
  private var usesLeft = 0
  private(set) var tokenCount = 0
  private var busyTargets: Set<String> = []

  init(seed: UInt64, firstDay: Day, tokenUses: Int) {
    maker = WeatherMaker(seed: seed, firstDay: firstDay)
    self.tokenUses = tokenUses
  }

  mutating func answer(_ request: ServerRequest) -> ServerAnswer {
    let methods = ["/token": "POST", "/search": "GET", "/forecast": "GET"]
    guard let method = methods[request.path] else {
      return .problem(404, "There is no \(request.path) here. Ask for /token, /search or /forecast.")
    }
    guard request.method == method else {
      return .problem(405, "Use \(method) for \(request.path).", headers: ["Allow": method])
    }
    guard request.path != "/token" else { return newToken() }
    guard let token, request.headers["authorization"] == "Bearer \(token)", usesLeft > 0 else {
      return .problem(
        401, "The token is no longer valid. Get a new one with POST /token.",
        headers: ["WWW-Authenticate": "Bearer"])
    }
    if isBusy(request.target) {
      return .problem(503, "Too many ask at the moment. Try again in a second.", headers: ["Retry-After": "1"])
    }
    usesLeft -= 1
    return request.path == "/search" ? search(request) : forecast(request)
  }

  private mutating func newToken() -> ServerAnswer {
    tokenCount += 1
    var random = SplitMix(seed: maker.seed &+ UInt64(tokenCount))
    let token = String(random.next(), radix: 16)
    self.token = token
    usesLeft = tokenUses
    return .json(TokenAnswer(accessToken: token, tokenType: "Bearer"))
  }

  private mutating func isBusy(_ target: String) -> Bool {
    var random = SplitMix(seed: maker.seed ^ SplitMix.hash(target))
    guard random.next() % 3 == 0 else { return false }
    return busyTargets.insert(target).inserted
  }

  /// Cities whose name begins like this, whatever the case and the accents; one of exactly that
  /// name goes before others.
  private func search(_ request: ServerRequest) -> ServerAnswer {
    guard let name = request.query("q")?.folded, !name.isEmpty else {
      return .problem(400, "Tell what to search for: /search?q=Oslo")
    }
    let places = City.all.map(\.place)
    let exact = places.filter { $0.name.folded == name }
    let results = exact.isEmpty ? places.filter { $0.name.folded.hasPrefix(name) } : exact
    guard results.isEmpty else { return .json(SearchAnswer(results: results)) }
    let meant = Suggestion.nearest(to: name, among: places.map(\.name.folded))
    return .json(SearchAnswer(results: [], suggestion: places.first { $0.name.folded == meant }?.name))
  }

  private func forecast(_ request: ServerRequest) -> ServerAnswer {
    guard let latitude = request.query("latitude").flatMap({ Double($0) }),
      let longitude = request.query("longitude").flatMap({ Double($0) }),
      let days = request.query("days").flatMap({ Int($0) }), (1...14).contains(days)
    else { return .problem(400, "Tell where, and for 1 to 14 days: /forecast?latitude=59.91&longitude=10.75&days=7") }
    let city = City.all.first { city in
      abs(city.place.latitude - latitude) < 0.1 && abs(city.place.longitude - longitude) < 0.1
    }
    guard let city else { return .problem(404, "There is no forecast for this place.") }
    return .json(maker.forecast(for: city, days: days))
  }
}

extension String {
  /// Without differences of case and of accents.
  var folded: String {
    folding(options: [.caseInsensitive, .diacriticInsensitive], locale: Locale(identifier: "en_US_POSIX"))
  }
}
