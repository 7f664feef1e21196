//! Texts for people, kept in files: the only place where tests fix their wording.
//!
//! `KEYWRIGHT_UPDATE_SNAPSHOTS=1` writes the files; a change of wording is then read as their difference.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

/// Fails unless the text equals the file under `tests/`, apart from blanks at the ends of lines.
pub fn assert_snapshot(file: &str, text: &str) {
    let text = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    if std::env::var_os("KEYWRIGHT_UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).enumerate().find(|(_, (kept, found))| kept != found);
    if let Some((line, (kept, found))) = differs {
        panic!(
            "{file}:{}:\n  kept   {kept}\n  found  {found}\nKEYWRIGHT_UPDATE_SNAPSHOTS=1 writes it",
            line + 1
        );
    }
    assert_eq!(kept.lines().count(), text.lines().count(), "{file}: KEYWRIGHT_UPDATE_SNAPSHOTS=1 writes it");
}

/// A command as one typed it, and everything that it wrote.
pub fn session(command: &str, output: &Output) -> String {
    let mut text = format!("$ keywright {command}\n");
    for stream in [&output.stdout, &output.stderr] {
        let written = String::from_utf8(stream.clone()).unwrap();
        text.push_str(&written);
        if !written.is_empty() && !written.ends_with('\n') {
            text.push('\n');
        }
    }
    if !output.status.success() {
        writeln!(text, "[status {}]", output.status.code().unwrap()).unwrap();
    }
    text.push('\n');
    text
}

/// Fails unless a message names all of these: facts that it must give, whatever its wording.
pub fn assert_names(message: &str, names: &[&str]) {
    for name in names {
        assert!(message.contains(name), "{name} is not named in: {message}");
    }
}
