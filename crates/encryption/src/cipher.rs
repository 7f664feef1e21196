//! The cipher of one file, from any byte on.

use aes::Aes256;
use ctr::cipher::{InnerIvInit as _, KeyInit as _, StreamCipher as _};
use ctr::{Ctr128BE, CtrCore};
use zeroize::Zeroize as _;

const BLOCK_BYTES: u64 = 16;
/// Bytes that are thrown away at once to begin within a block.
const BLOCK: usize = 16;

/// Encrypts and decrypts the content of one file, which begins at offset 0 after the header.
#[derive(Clone)]
pub struct FileCipher(Aes256);

impl FileCipher {
    pub(crate) fn new(mut key: [u8; 32]) -> Self {
        let cipher = Self(Aes256::new(&key.into()));
        key.zeroize();
        cipher
    }

    /// Encrypts the bytes at an offset of the content, or decrypts them: both are the same. No byte may be
    /// encrypted twice at one offset with different values.
    pub fn apply(&self, offset: u64, bytes: &mut [u8]) {
        let counter = u128::from(offset / BLOCK_BYTES).to_be_bytes();
        let core = CtrCore::inner_iv_init(self.0.clone(), &counter.into());
        let mut stream = Ctr128BE::from_core(core);
        let skipped = usize::try_from(offset % BLOCK_BYTES).unwrap_or(0);
        assert!(skipped < BLOCK, "the remainder is within a block");
        let mut skip = [0; BLOCK];
        stream.apply_keystream(skip.get_mut(..skipped).unwrap_or_default());
        stream.apply_keystream(bytes);
    }
}

impl std::fmt::Debug for FileCipher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("FileCipher")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encrypted(length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        FileCipher::new([7; 32]).apply(0, &mut bytes);
        bytes
    }

    /// The counters of published examples do not begin at 0; so the blocks are made from the cipher alone.
    #[test]
    fn the_stream_is_that_of_aes_in_counter_mode() {
        use aes::cipher::BlockCipherEncrypt as _;
        let stream = encrypted(64);
        let cipher = Aes256::new(&[7; 32].into());
        for (number, block) in stream.chunks(16).enumerate() {
            let mut expected = u128::try_from(number).unwrap().to_be_bytes().into();
            cipher.encrypt_block(&mut expected);
            assert_eq!(block, expected.as_slice(), "block {number}");
        }
    }

    proptest! {
        #[test]
        fn a_part_is_decrypted_as_it_was_encrypted_within_the_whole(from in 0_usize..600, length in 0_usize..600) {
            let mut part = encrypted(1200)[from..from + length].to_vec();
            FileCipher::new([7; 32]).apply(u64::try_from(from).unwrap(), &mut part);
            prop_assert_eq!(part, vec![0; length]);
        }
    }

    #[test]
    fn offsets_beyond_four_gibibytes_have_streams_of_their_own() {
        let cipher = FileCipher::new([7; 32]);
        let at = |offset| {
            let mut bytes = [0; 16];
            cipher.apply(offset, &mut bytes);
            bytes
        };
        assert_ne!(at(0), at(1 << 36));
        assert_ne!(at(1 << 32), at(1 << 36));
        assert_eq!(at(1 << 36), at(1 << 36));
    }
}
