/// The release of the package: the newest one that `CHANGELOG.md` names.
enum Version {
  static let current = "0.1.0"
}
