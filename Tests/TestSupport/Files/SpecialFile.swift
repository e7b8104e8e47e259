import Foundation

/// What is not a regular file, made in the folder of a test: no file of the machine is in danger.
public enum SpecialFile: Sendable, CaseIterable {
  case pipe, socket, device

  /// Those that this process can make. A device needs root, a socket needs Linux.
  public static let makeable: [SpecialFile] = allCases.filter { special in
    let place = FileManager.default.temporaryDirectory.appendingPathComponent("special-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: place) }
    return (try? special.make(at: place)) != nil
  }

  /// Makes it. A device is a null device.
  public func make(at url: URL) throws {
    let status =
      switch self {
      case .pipe: mkfifo(url.path, 0o600)
      case .socket: mknod(url.path, S_IFSOCK | 0o600, 0)
      case .device: mknod(url.path, S_IFCHR | 0o600, Self.nullDevice)
      }
    guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  #if canImport(Darwin)
  private static let nullDevice: dev_t = 3 << 24 | 2
  #else
  private static let nullDevice: dev_t = 1 << 8 | 3
  #endif

  /// What stands at a place, to compare it with what stood there before. A link stands for itself.
  public static func identity(at url: URL) -> String {
    let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
    return "\(attributes?[.type] ?? "nothing") \(attributes?[.systemFileNumber] ?? "")"
  }
}
