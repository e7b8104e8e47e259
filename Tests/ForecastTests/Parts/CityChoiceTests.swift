import Testing

@testable import Forecast

@Suite(.timeLimit(.minutes(30))) struct CityChoiceTests {
  private func place(_ name: String, _ country: String) -> Place {
    Place(name: name, country: country, latitude: 0, longitude: 0, timezone: "UTC")
  }

  private var both: SearchAnswer {
    SearchAnswer(results: [place("Valencia", "Spain"), place("Valencia", "Venezuela")])
  }

  @Test func name_endsAtTheComma() {
    #expect(CityChoice(text: "Cape Town, South Africa").name == "Cape Town")
    #expect(CityChoice(text: "Oslo").name == "Oslo")
    #expect(CityChoice(text: ",").name == ",")
  }

  @Test func country_decidesBetweenSeveral() throws {
    #expect(try CityChoice(text: "Valencia, ven").pick(from: both).country == "Venezuela")
    #expect(throws: ForecastFailure.severalCities("Valencia", ["Valencia, Spain", "Valencia, Venezuela"])) {
      try CityChoice(text: "Valencia").pick(from: both)
    }
  }

  @Test func noCity_isAFailureWithASuggestion() {
    #expect(throws: ForecastFailure.unknownCity("Lisbom", suggestion: "Lisbon")) {
      try CityChoice(text: "Lisbom").pick(from: SearchAnswer(results: [], suggestion: "Lisbon"))
    }
    #expect(throws: ForecastFailure.unknownCity("Valencia, France", suggestion: "Valencia, Spain")) {
      try CityChoice(text: "Valencia, France").pick(from: both)
    }
  }
}
