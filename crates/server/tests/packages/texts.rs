//! `--version`, `completions` and `man`, as a shell or a reader gets them.

use std::process::{Command, Output};

fn keywright(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keywright")).args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = keywright(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_version_names_commit_target_and_features() {
    let text = printed(&["--version"]);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["keywright", "commit", "target", "features"], "{text}");
    assert!(text.lines().all(|line| line.split_whitespace().nth(1).is_some()), "{text}");
    assert_eq!(printed(&["-V"]).lines().count(), 1);
}

#[test]
fn a_shell_completes_commands_with_the_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("keywright.bash");
    std::fs::write(&script, printed(&["completions", "bash"])).unwrap();
    let commands = ". \"$1\"; COMP_WORDS=(keywright model ch); COMP_CWORD=2
        _keywright keywright ch model; echo \"${COMPREPLY[@]}\"";
    let completed = Command::new("bash").args(["-c", commands, "-"]).arg(&script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&completed.stdout).trim(), "check");
}

#[test]
fn every_shell_has_a_script_and_an_unknown_one_is_refused() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(printed(&["completions", shell]).contains("credentials"), "{shell}");
    }
    let refused = keywright(&["completions", "tcsh"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("tcsh"));
}

#[test]
fn every_command_gets_a_manual_page() {
    assert!(printed(&["man"]).contains(".TH keywright 1"));
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(printed(&["man", "--folder", pages.to_str().unwrap()]), "");
    for (page, option) in [("keywright-serve", "ready\\-file"), ("keywright-model-check", "format")] {
        let text = std::fs::read_to_string(pages.join(format!("{page}.1"))).unwrap();
        assert!(text.contains(&format!(".TH {page} 1")) && text.contains(option), "{page}: {text}");
    }
    let file = folder.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let refused = keywright(&["man", "--folder", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a file"));
}
