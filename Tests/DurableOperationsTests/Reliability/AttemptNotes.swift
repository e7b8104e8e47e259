import Foundation

/// What several processes have noted in one file, in the order in which they did it: see
/// `AttemptLog` of the program.
struct AttemptNotes {
  struct Note: Hashable {
    /// `E` stored, `S` an attempt starts, `F` it has finished, `D` it was acknowledged.
    let what: Character
    let id: Int64
    let run: String
  }

  let notes: [Note]

  init(_ file: URL) {
    let data = (try? Data(contentsOf: file)) ?? Data()
    notes = String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
      let parts = line.split(separator: " ")
      guard parts.count == 3, let what = parts[0].first, let id = Int64(parts[1]) else { return nil }
      return Note(what: what, id: id, run: String(parts[2]))
    }
  }

  func ids(_ what: Character) -> Set<Int64> { Set(notes.filter { $0.what == what }.map(\.id)) }

  /// Attempts that started after the job was acknowledged.
  func startsAfterDone() -> [Note] {
    var done: Set<Int64> = []
    return notes.filter { note in
      if note.what == "D" { done.insert(note.id) }
      return note.what == "S" && done.contains(note.id)
    }
  }

  /// Attempts that started while another attempt at the same job went on: its process has noted
  /// something later, so it was alive.
  func startsWhileRunning() -> [Note] {
    var lastNote: [String: Int] = [:]
    for (index, note) in notes.enumerated() { lastNote[note.run] = index }
    var running: [Int64: String] = [:]
    var doubled: [Note] = []
    for (index, note) in notes.enumerated() {
      switch note.what {
      case "S":
        if let other = running[note.id], lastNote[other, default: 0] > index, other != note.run { doubled.append(note) }
        if running[note.id] == note.run { doubled.append(note) }
        running[note.id] = note.run
      case "F": if running[note.id] == note.run { running[note.id] = nil }
      default: break
      }
    }
    return doubled
  }
}
