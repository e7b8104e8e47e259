/// What checking one link came to.
enum Verdict: Equatable, Sendable {
  /// `redirects` holds the addresses that the server sent us to, the last one being where the link ends.
  case good(redirects: [String] = [])
  /// The link leads nowhere: no such file or anchor, or the server says so.
  case broken(reason: String, status: Int? = nil)
  /// Nothing is known: the server could not be asked, or did not answer in time.
  case unreachable(reason: String)
}
