#if !canImport(FoundationNetworking)
import CryptoKit
import Foundation
import Security

/// Whether a server has proved one of the keys that it was expected to have.
enum PinnedServer {
  static func isTrusted(_ trust: SecTrust, pins: Set<String>) -> Bool {
    guard let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate], let leaf = chain.first,
      let key = SecCertificateCopyKey(leaf), let info = info(of: key)
    else { return false }
    let pin = Data(SHA256.hash(data: Data(info))).base64EncodedString()
    return pins.contains { HTTPOptions.hash(ofPin: $0) == pin }
  }

  private static func info(of key: SecKey) -> [UInt8]? {
    guard let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?,
      let attributes = SecKeyCopyAttributes(key) as? [String: Any],
      let type = attributes[kSecAttrKeyType as String] as? String
    else { return nil }
    if type == kSecAttrKeyTypeRSA as String { return PublicKeyInfo.encode(Array(bytes), .rsa) }
    guard let size = attributes[kSecAttrKeySizeInBits as String] as? Int else { return nil }
    return PublicKeyInfo.encode(Array(bytes), .ellipticCurve(size))
  }
}
#endif
