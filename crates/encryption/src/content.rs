//! Whole files: for everything outside of the store that lies in an encrypted folder.

use crate::fault::HeaderFault;
use crate::header::HEADER_BYTES;
use crate::keyring::Keyring;

impl Keyring {
    /// The bytes of an encrypted file with this content.
    pub fn encrypted(&self, content: &[u8]) -> Vec<u8> {
        let (header, cipher) = self.begin_file();
        let mut bytes = header.encode().to_vec();
        bytes.extend_from_slice(content);
        cipher.apply(0, bytes.get_mut(HEADER_BYTES..).unwrap_or_default());
        bytes
    }

    /// The content of an encrypted file.
    pub fn decrypted(&self, mut bytes: Vec<u8>) -> Result<Vec<u8>, HeaderFault> {
        let cipher = self.resume_file(&bytes)?;
        bytes.drain(..HEADER_BYTES);
        cipher.apply(0, &mut bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::MasterKey;

    #[test]
    fn what_is_encrypted_is_read_whole_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Keyring::create(folder.path(), &MasterKey::random(), None, 1).unwrap();
        let content: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let mut written = keyring.encrypted(&content);
        assert_eq!(written.len(), content.len() + HEADER_BYTES);
        assert_eq!(keyring.decrypted(written.clone()).unwrap(), content);
        assert_eq!(keyring.decrypted(keyring.encrypted(&[])).unwrap(), b"");

        written[20] ^= 1;
        assert_eq!(keyring.decrypted(written), Err(HeaderFault::Damaged));
        assert_eq!(keyring.decrypted(content), Err(HeaderFault::NotEncrypted));
    }
}
