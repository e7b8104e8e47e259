/// Which release of the package this is: the newest one that `CHANGELOG.md` names.
enum Version {
  static let current = "0.1.0"
}
