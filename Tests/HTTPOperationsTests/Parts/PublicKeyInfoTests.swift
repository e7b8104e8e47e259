import Foundation
import Testing

@testable import HTTPOperations

/// What pins are hashes of, made from a bare key.
@Suite("HTTP: keys of certificates") struct PublicKeyInfoTests {
  private func hex(_ bytes: [UInt8]?) -> String? {
    bytes.map { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
  }

  /// The heads are those that OpenSSL writes for keys of these kinds.
  @Test(arguments: [
    (PublicKeyInfo.Algorithm.rsa, 270, "30820122300d06092a864886f70d01010105000382010f00"),
    (.rsa, 398, "308201a2300d06092a864886f70d01010105000382018f00"),
    (.rsa, 526, "30820222300d06092a864886f70d01010105000382020f00"),
    (.ellipticCurve(256), 65, "3059301306072a8648ce3d020106082a8648ce3d030107034200"),
    (.ellipticCurve(384), 97, "3076301006072a8648ce3d020106052b81040022036200"),
    (.ellipticCurve(521), 133, "30819b301006072a8648ce3d020106052b8104002303818600"),
  ])
  func key_ofAnAlgorithm_hasItsHead(_ algorithm: PublicKeyInfo.Algorithm, _ count: Int, _ head: String) {
    let key = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    #expect(hex(PublicKeyInfo.encode(key, algorithm)) == head + (hex(key) ?? ""))
  }

  @Test func curve_ofNoCertificate_isNil() {
    #expect(PublicKeyInfo.encode([1], .ellipticCurve(192)) == nil)
  }
}
