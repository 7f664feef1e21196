//! Takes comments and indentation out of the pages' scripts and style sheets.
//!
//! Names and lines stay, so that an error names a line that a reader finds. It knows the tokens of both
//! languages and nothing of what they mean.

/// A line of a script, and the line of the source that it comes from, from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: String,
    /// Whether it begins within a text of a template.
    pub(super) in_template: bool,
}

/// Words after which a slash begins a regular expression.
const BEFORE_EXPRESSION: [&str; 15] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "extends",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// A script without comments, indentation and spaces that separate nothing. Lines without code are left out.
pub(super) fn script(source: &str) -> Vec<Line> {
    let mut script = Script {
        rest: source,
        lines: Vec::new(),
        line: Line { number: 0, text: String::new(), in_template: false },
        number: 0,
        space: false,
        word: String::new(),
        braces: 0,
        templates: Vec::new(),
    };
    script.run();
    script.lines
}

struct Script<'s> {
    rest: &'s str,
    lines: Vec<Line>,
    line: Line,
    number: usize,
    /// Whether space was passed over since the last token.
    space: bool,
    /// The last token, if it is a word.
    word: String,
    braces: usize,
    /// The open braces at each `${` that is not closed.
    templates: Vec<usize>,
}

impl Script<'_> {
    fn run(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            match next {
                '\n' => {
                    self.skip(1);
                    self.end_line(false);
                }
                _ if next.is_whitespace() => {
                    self.space = true;
                    self.skip(next.len_utf8());
                }
                '/' if self.rest.starts_with("//") => {
                    self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
                }
                '/' if self.rest.starts_with("/*") => self.comment(),
                '"' | '\'' => self.token(text_length(self.rest, next)),
                '/' if self.begins_expression() => self.token(expression_length(self.rest)),
                '`' => {
                    self.token(1);
                    self.template();
                }
                '}' if self.templates.last() == Some(&self.braces) => {
                    self.templates.pop();
                    self.token(1);
                    self.template();
                }
                _ if is_of_word(next) => {
                    let end = self.rest.find(|other| !is_of_word(other)).unwrap_or(self.rest.len());
                    let is_member = self.line.text.ends_with('.');
                    let word = self.rest.get(..end).unwrap_or_default().to_owned();
                    self.token(end);
                    self.word = if is_member { "member".to_owned() } else { word };
                }
                _ => {
                    match next {
                        '{' => self.braces += 1,
                        '}' => self.braces = self.braces.saturating_sub(1),
                        _ => {}
                    }
                    self.token(next.len_utf8());
                }
            }
        }
        self.end_line(false);
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// Takes a token of so many bytes, with the space before it if the two would become another one.
    fn token(&mut self, bytes: usize) {
        let (token, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        let (before, after) = (self.line.text.chars().last(), token.chars().next());
        if let (true, Some(before), Some(after)) = (self.space, before, after) {
            let joins = (is_of_word(before) && is_of_word(after))
                || (matches!(before, '+' | '-' | '/') && matches!(after, '+' | '-' | '/' | '*'));
            if joins {
                self.line.text.push(' ');
            }
        }
        self.line.text.push_str(token);
        self.number += token.matches('\n').count();
        self.space = false;
        self.word.clear();
        self.rest = rest;
    }

    /// The text of a template up to its end or to the next `${`.
    fn template(&mut self) {
        let mut escaped = false;
        while let Some(next) = self.rest.chars().next() {
            if next == '\n' {
                self.skip(1);
                self.end_line(true);
                escaped = false;
                continue;
            }
            let opens = !escaped && self.rest.starts_with("${");
            let length = if opens { 2 } else { next.len_utf8() };
            self.line.text.push_str(self.rest.get(..length).unwrap_or_default());
            self.skip(length);
            if opens {
                self.templates.push(self.braces);
            }
            if opens || (!escaped && next == '`') {
                return;
            }
            escaped = !escaped && next == '\\';
        }
    }

    fn comment(&mut self) {
        let length = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
        let lines = self.rest.get(..length).unwrap_or_default().matches('\n').count();
        self.skip(length);
        self.space = true;
        // A comment over several lines ends a line, as the language has it.
        for _ in 0..lines {
            self.end_line(false);
        }
    }

    fn end_line(&mut self, in_template: bool) {
        self.number += 1;
        let next = Line { number: self.number, text: String::new(), in_template };
        let line = std::mem::replace(&mut self.line, next);
        if !line.text.is_empty() || line.in_template {
            self.lines.push(line);
        }
        self.space = false;
    }

    /// Whether a slash here begins a regular expression and is no division.
    fn begins_expression(&self) -> bool {
        if !self.word.is_empty() {
            return BEFORE_EXPRESSION.contains(&self.word.as_str());
        }
        let on_line = self.line.text.chars().last();
        let before = on_line.or_else(|| self.lines.last()?.text.chars().last());
        !matches!(before, Some(')' | ']' | '}' | '"' | '\'' | '`'))
    }
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$') || !character.is_ascii()
}

/// The length of a text that begins here.
fn text_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if !escaped && character == quote {
            return at + 1;
        }
        escaped = !escaped && character == '\\';
    }
    rest.len()
}

/// The length of a regular expression that begins here, without its flags.
fn expression_length(rest: &str) -> usize {
    let (mut escaped, mut in_class) = (false, false);
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => {}
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return at + 1,
            _ => {}
        }
        escaped = !escaped && character == '\\';
    }
    rest.len()
}

/// A style sheet without comments and spaces that separate nothing.
pub(super) fn sheet(source: &str) -> String {
    let mut made = String::with_capacity(source.len());
    let mut rest = source;
    let mut space = false;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, after)| after);
            space = true;
            continue;
        }
        if next.is_whitespace() {
            space = true;
            rest = rest.trim_start();
            continue;
        }
        let before = made.chars().last();
        if space
            && !matches!(before, None | Some('{' | '}' | ';' | ',' | ':'))
            && !matches!(next, '{' | '}' | ';' | ',')
        {
            made.push(' ');
        }
        space = false;
        let length = if matches!(next, '"' | '\'') { text_length(rest, next) } else { next.len_utf8() };
        if next == '}' && before == Some(';') {
            made.pop();
        }
        made.push_str(rest.get(..length).unwrap_or_default());
        rest = rest.get(length..).unwrap_or_default();
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        script(source).iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn comments_and_indentation_go_and_what_separates_words_stays() {
        assert_eq!(text("// a\nconst a = b + c; // d\n"), "const a=b+c;");
        assert_eq!(text("  return  a /* b */ in\n\n  c;"), "return a in\nc;");
        assert_eq!(text("a + +b - -c; d = e++ + f"), "a+ +b- -c;d=e++ +f");
    }

    #[test]
    fn texts_templates_and_regular_expressions_stay_as_they_are() {
        for same in [
            r#"a("// no  comment","/* nor */",'it\'s  one')"#,
            "`  a // b\n\n   ${c}  d`",
            r"a.replace(/[/ ]  \/*/g,b)",
            "a.of/b/c",
            "return/ a/.test(b)",
            "`a ${b?`c  ${d}`:{e:`f  `}.e} \\`  g`",
        ] {
            assert_eq!(text(same), same);
        }
        assert_eq!(text("a / b / c; (d) / e"), "a/b/c;(d)/e");
        assert_eq!(text("`${ a } /* b */`"), "`${a} /* b */`");
    }

    #[test]
    fn each_line_knows_the_line_of_the_source() {
        let lines = script("/*\n*/\na\n\n  `b\n c`\n d");
        let numbers: Vec<_> = lines.iter().map(|line| (line.number, line.in_template)).collect();
        assert_eq!(numbers, [(2, false), (4, false), (5, true), (6, false)]);
    }

    #[test]
    fn a_sheet_keeps_what_separates_selectors() {
        let source = "/* a */\n.a > .b, .c :hover { color: red;  margin: 0 auto; }\n@media (max-width: 9px) { .d::after { content: \"; }\"; } }";
        let made =
            ".a > .b,.c :hover{color:red;margin:0 auto}@media (max-width:9px){.d::after{content:\"; }\"}}";
        assert_eq!(sheet(source), made);
    }
}
