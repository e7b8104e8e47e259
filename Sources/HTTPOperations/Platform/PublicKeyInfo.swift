import Foundation

/// The SubjectPublicKeyInfo of a certificate, made from the bare key that Apple's Security gives:
/// what pins are hashes of.
enum PublicKeyInfo {
  enum Algorithm {
    case rsa
    /// A curve of NIST, by the bits of its keys.
    case ellipticCurve(Int)

    /// The object identifiers, encoded, with what belongs to them.
    fileprivate var identifier: [UInt8]? {
      let curves = "06072A8648CE3D0201"
      let text: String
      switch self {
      case .rsa: text = "06092A864886F70D0101010500"
      case .ellipticCurve(256): text = curves + "06082A8648CE3D030107"
      case .ellipticCurve(384): text = curves + "06052B81040022"
      case .ellipticCurve(521): text = curves + "06052B81040023"
      case .ellipticCurve: return nil
      }
      let digits = text.compactMap(\.hexDigitValue).map { UInt8($0) }
      return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
  }

  private static let (sequence, bitString): (UInt8, UInt8) = (0x30, 0x03)

  /// Nil for curves that no certificate of the web has.
  static func encode(_ key: [UInt8], _ algorithm: Algorithm) -> [UInt8]? {
    algorithm.identifier.map { element(sequence, element(sequence, $0) + element(bitString, [0] + key)) }
  }

  /// An element of DER: its tag, its length, and what is in it.
  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    if count < 0x80 { return [tag, UInt8(count)] + content }
    let length = withUnsafeBytes(of: count.bigEndian) { Array($0.drop { $0 == 0 }) }
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }
}
