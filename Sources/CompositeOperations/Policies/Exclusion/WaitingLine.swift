/// Numbers that only grow, in a line: those at the front leave first, mostly.
struct WaitingLine {
  private var ids: [Int] = []
  /// Those before have left.
  private var head = 0

  var isEmpty: Bool { head == ids.count }

  var first: Int? { isEmpty ? nil : ids[head] }

  mutating func append(_ id: Int) {
    precondition(isEmpty || ids[ids.count - 1] < id, "\(id) came after \(ids[ids.count - 1])")
    ids.append(id)
  }

  mutating func remove(_ id: Int) {
    if first == id {
      head += 1
      guard head >= 32, head * 2 >= ids.count else { return }
      ids.removeFirst(head)
      head = 0
      return
    }
    var (low, high) = (head, ids.count)
    while low < high {
      let middle = (low + high) / 2
      if ids[middle] < id { low = middle + 1 } else { high = middle }
    }
    precondition(low < ids.count && ids[low] == id, "\(id) is not in line")
    ids.remove(at: low)
  }
}
