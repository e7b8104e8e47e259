import ExampleSupport

extension Report {
  /// The report for people: a table per kind of finding, and one line that sums up.
  var text: String {
    var text = ""
    func add(_ title: String, _ findings: [Finding], _ remark: (Finding) -> String) {
      guard !findings.isEmpty else { return }
      var table = Table()
      for finding in findings {
        // Names and links may come from strangers.
        table.add(
          Wording.plain("\(finding.file):\(finding.line)"), Wording.plain(finding.link), Wording.plain(remark(finding)))
      }
      text += "\(title):\n\(table.text)\n"
    }
    if !unreadable.isEmpty {
      var table = Table()
      for file in unreadable { table.add(Wording.plain(file.file), Wording.plain(file.reason)) }
      text += "Unreadable files:\n\(table.text)\n"
    }
    add("Redirected links", redirected) { finding in
      let count = finding.redirects ?? 0
      return "-> \(finding.target ?? "") (\(count) redirect\(count == 1 ? "" : "s"))"
    }
    add("Unreachable links", unreachable) { $0.reason ?? "" }
    add("Broken links", broken) { $0.reason ?? "" }
    return text + summary
  }

  private var summary: String {
    var parts = ["\(links.good) good", "\(links.broken) broken"]
    if links.unreachable > 0 { parts.append("\(links.unreachable) unreachable") }
    if links.redirected > 0 { parts[0] += " (\(links.redirected) redirected)" }
    if links.skipped > 0 {
      let kinds = skipped.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      parts.append("\(links.skipped) skipped (\(kinds))")
    }
    if links.unchecked > 0 { parts.append("\(links.unchecked) not checked") }
    let count = "\(links.total) link\(links.total == 1 ? "" : "s") in \(files) file\(files == 1 ? "" : "s")"
    return (interrupted ? "Interrupted. " : "") + "\(count): \(parts.joined(separator: ", ")).\n"
  }
}
