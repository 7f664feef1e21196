//! A disk that is soon full.

use std::path::Path;
use std::process::Command;

/// A small disk of its own, removed when dropped.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where this process may not mount.
    pub fn mount(mib: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(folder.path())
            .output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(folder));
        }
        eprintln!("full disks: skipped, because this process may not mount a file system");
        None
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
