/// A queue in an array whose head moves as elements are taken; their storage is reclaimed in
/// batches.
///
/// A taken element stays in memory until then: for elements with storage of their own there is
/// ``popFirst(leaving:)``.
@frozen
package struct HeadedQueue<Element> {
  @usableFromInline var places: [Element] = []
  @usableFromInline var head = 0

  @inlinable
  package init() {}

  @inlinable package var isEmpty: Bool { head == places.count }
  @inlinable package var count: Int { places.count - head }
  @inlinable package var elements: ArraySlice<Element> { places[head...] }

  @inlinable
  package mutating func append(_ element: Element) { places.append(element) }

  @inlinable
  package mutating func append(contentsOf elements: some Sequence<Element>) { places.append(contentsOf: elements) }

  @inlinable
  package mutating func popFirst() -> Element? {
    guard head < places.count else { return nil }
    let first = places[head]
    leaveFirst()
    return first
  }

  /// Takes the first element, and leaves another one in its place, so that its storage goes with
  /// it.
  @inlinable
  package mutating func popFirst(leaving rest: Element) -> Element? {
    guard head < places.count else { return nil }
    var first = rest
    swap(&first, &places[head])
    leaveFirst()
    return first
  }

  @inlinable
  mutating func leaveFirst() {
    head += 1
    if head == places.count {
      places.removeAll(keepingCapacity: head < 1024)
      head = 0
    } else if head >= 1024, head > places.count / 2 {
      // A queue that is never empty must not grow forever.
      places.removeFirst(head)
      head = 0
    }
  }

  /// Removes the elements that do not satisfy a predicate.
  @inlinable
  package mutating func keep(where isKept: (Element) -> Bool) {
    places = places[head...].filter(isKept)
    head = 0
  }
}
