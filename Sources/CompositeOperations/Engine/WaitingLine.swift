/// Ascending numbers in a line, which mostly leave at the front and arrive at the end.
struct WaitingLine {
  private var ids: [Int] = []
  /// The index of the first number; those before it have left.
  private var head = 0

  var isEmpty: Bool { head == ids.count }

  var first: Int? { isEmpty ? nil : ids[head] }

  /// Inserts a number in order. Returns whether it is the last.
  mutating func insert(_ id: Int) -> Bool {
    if isEmpty || ids[ids.count - 1] < id {
      ids.append(id)
      return true
    }
    let index = index(of: id)
    precondition(ids[index] != id, "\(id) is in line already")
    ids.insert(id, at: index)
    return false
  }

  mutating func remove(_ id: Int) {
    if first == id {
      head += 1
      guard head >= 32, head * 2 >= ids.count else { return }
      ids.removeFirst(head)
      head = 0
      return
    }
    let index = index(of: id)
    precondition(index < ids.count && ids[index] == id, "\(id) is not in line")
    ids.remove(at: index)
  }

  /// The index of the first number that is not lower.
  private func index(of id: Int) -> Int {
    var (low, high) = (head, ids.count)
    while low < high {
      let middle = (low + high) / 2
      if ids[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
