/// The text format 0.0.4 of Prometheus, read strictly: what it does not allow is thrown.
struct PrometheusText {
  struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  struct Malformed: Error {
    let line: String
    let reason: String
  }

  private(set) var types: [String: String] = [:]
  private(set) var samples: [Sample] = []

  init(_ text: String) throws {
    guard text.utf8.last == UInt8(ascii: "\n") else { throw Malformed(line: "", reason: "no line feed at the end") }
    var helped: Set<String> = []
    var closed: Set<String> = []
    var current: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) {
      func fail(_ reason: String) -> Malformed { Malformed(line: line, reason: reason) }
      if line.hasPrefix("#") {
        let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
        guard parts.count == 4, parts[0] == "#", parts[1] == "HELP" || parts[1] == "TYPE", Self.isName(parts[2]) else {
          throw fail("no comment of the format")
        }
        if parts[1] == "HELP" {
          guard helped.insert(parts[2]).inserted else { throw fail("a second HELP") }
        } else {
          guard ["counter", "gauge", "histogram"].contains(parts[3]) else { throw fail("no type") }
          guard types.updateValue(parts[3], forKey: parts[2]) == nil else { throw fail("a second TYPE") }
        }
        if current != parts[2] {
          if let current { closed.insert(current) }
          current = parts[2]
        }
        continue
      }
      let sample = try Self.sample(line)
      guard let family = current, sample.name == family || Self.isPart(sample.name, of: family, types[family]) else {
        throw fail("not of the family that was begun")
      }
      guard !closed.contains(family) else { throw fail("a family in two parts") }
      guard !samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels }) else {
        throw fail("a series twice")
      }
      samples.append(sample)
    }
    try checkHistograms()
  }

  func value(_ name: String, _ labels: [String: String]) -> Double? {
    samples.first { $0.name == name && $0.labels == labels }?.value
  }

  private static func isPart(_ name: String, of family: String, _ type: String?) -> Bool {
    type == "histogram" && ["_bucket", "_sum", "_count"].contains { name == family + $0 }
  }

  private static func isName(_ name: String) -> Bool {
    name.wholeMatch(of: /[a-zA-Z_:][a-zA-Z0-9_:]*/) != nil
  }

  private static func sample(_ line: String) throws -> Sample {
    func fail(_ reason: String) -> Malformed { Malformed(line: line, reason: reason) }
    var rest = Substring(line)
    let name = String(rest.prefix { $0 != "{" && $0 != " " })
    guard isName(name) else { throw fail("no name") }
    rest.removeFirst(name.count)
    var labels: [String: String] = [:]
    if rest.first == "{" {
      rest.removeFirst()
      while rest.first != "}" {
        let label = String(rest.prefix { $0 != "=" })
        guard isName(label), !label.contains(":") else { throw fail("no name of a label") }
        rest.removeFirst(label.count)
        guard rest.hasPrefix("=\"") else { throw fail("no value of a label") }
        rest.removeFirst(2)
        guard labels.updateValue(try quoted(&rest, line), forKey: label) == nil else { throw fail("a label twice") }
        if rest.first == "," { rest.removeFirst() } else if rest.first != "}" { throw fail("no comma") }
      }
      rest.removeFirst()
    }
    guard rest.first == " ", let value = Double(rest.dropFirst()) else { throw fail("no value") }
    return Sample(name: name, labels: labels, value: value)
  }

  /// Reads up to the quotation mark at the end.
  private static func quoted(_ rest: inout Substring, _ line: String) throws -> String {
    var value = String.UnicodeScalarView()
    var scalars = rest.unicodeScalars
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\"":
        rest = Substring(scalars)
        return String(value)
      case "\\":
        switch scalars.popFirst() {
        case "\\": value.append("\\")
        case "\"": value.append("\"")
        case "n": value.append("\n")
        default: throw Malformed(line: line, reason: "no escape of the format")
        }
      default: value.append(scalar)
      }
    }
    throw Malformed(line: line, reason: "no end of a value")
  }

  /// Buckets grow, end with that of infinity, and this is the count.
  private func checkHistograms() throws {
    for (family, type) in types where type == "histogram" {
      for count in samples where count.name == family + "_count" {
        let buckets = samples.filter { sample in
          sample.name == family + "_bucket" && sample.labels.filter { $0.key != "le" } == count.labels
        }
        let bounds = buckets.compactMap { $0.labels["le"].flatMap { $0 == "+Inf" ? .infinity : Double($0) } }
        guard bounds.count == buckets.count, bounds == bounds.sorted(), bounds.last == .infinity,
          buckets.map(\.value) == buckets.map(\.value).sorted(), buckets.last?.value == count.value,
          value(family + "_sum", count.labels) != nil
        else { throw Malformed(line: family, reason: "no histogram") }
      }
    }
  }
}
