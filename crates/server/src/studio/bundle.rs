//! Links the modules of the pages into few scripts, and their style sheets into one.
//!
//! Sixty small files compress a quarter worse than a few large ones, and each is a request. A module becomes
//! a function that returns its exports, so that no name of one meets a name of another. What is loaded on
//! demand stays so: modules that views of the same areas reach make one script. Maps lead from a line to its
//! source.
//!
//! It reads the forms of `import` and `export` that the pages use, each at the beginning of a line, and
//! refuses any other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::minify::{self, Line};

/// The module that the page loads. Its script also links the others.
const ENTRY: &str = "app.js";
/// The one sheet, and those that it is made of, in the order in which they may override each other.
const SHEET: &str = "app.css";
const SHEETS: [&str; 5] = [
    SHEET,
    "views/collections/collections.css",
    "views/model/model.css",
    "views/tables/items.css",
    "views/operate/operate.css",
];
/// Modules that keep their files, as they are imported under their own names.
const VENDORED: &str = "vendor/";
/// The library that every view uses.
const EVERYWHERE: &str = "vendor/lit-html/";
const FOLDER: &str = "bundle/";
/// What makes a declaration an export.
const EXPORT: &str = "export ";

/// What links modules when they run: functions by name, and the exports of those that ran. An export is read
/// when it is asked for, so that modules may import each other.
const LINKER: &str = "const $made=new Map(),$ran=new Map();\
export const $module=(name,run)=>$made.set(name,run);\
export const $vendored=(name,exports)=>$ran.set(name,exports);\
export const $need=(name)=>{let own=$ran.get(name);if(!own){$ran.set(name,own={});$made.get(name)(own)}return own};\
export const $export=(own,names)=>{for(const name in names)Object.defineProperty(own,name,{get:names[name]})};\
export const $load=async(name)=>{await Promise.all($parts[name].map((part)=>import(part)));return $need(name)};";

/// The linked files by their paths.
pub(super) type Files = BTreeMap<String, String>;

/// One module: its code with imports and exports replaced.
struct Module {
    lines: Vec<Line>,
    exports: Vec<String>,
    imports: BTreeSet<String>,
    loads: BTreeSet<String>,
}

/// Links the files that `read` knows. The error names the file and the line that it cannot link.
pub(super) fn link(read: &dyn Fn(&str) -> Option<String>) -> Result<Files, String> {
    let modules = modules(read)?;
    let mut entries: BTreeSet<&str> =
        modules.values().flat_map(|module| &module.loads).map(String::as_str).collect();
    entries.insert(ENTRY);
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        entries.iter().map(|entry| (*entry, closure(&modules, entry))).collect();
    let mut groups: BTreeMap<Group<'_>, Vec<&str>> = BTreeMap::new();
    for (name, module) in &modules {
        let by = reached.iter().filter(|(_, names)| names.contains(name.as_str())).map(|(entry, _)| *entry);
        groups.entry(Group::of(module, by)).or_default().push(name);
    }
    let paths: BTreeMap<&Group<'_>, String> = groups
        .keys()
        .enumerate()
        .map(|(at, group)| {
            (group, if group.is_entry() { ENTRY.to_owned() } else { format!("{FOLDER}{at}.js") })
        })
        .collect();
    let parts: Vec<String> = reached
        .iter()
        .map(|(entry, names)| {
            let own = groups
                .iter()
                .filter(|(group, own)| !group.is_entry() && own.iter().any(|name| names.contains(name)));
            let own: Vec<String> =
                own.filter_map(|(group, _)| Some(format!("\"./{}\"", paths.get(group)?))).collect();
            format!("\"{entry}\":[{}]", own.join(","))
        })
        .collect();
    let mut files = Files::new();
    for (group, names) in &groups {
        let path = paths.get(group).expect("every group has a path");
        let head = if group.is_entry() {
            format!("{LINKER}const $parts={{{}}};", parts.join(","))
        } else {
            "import{$export,$load,$module,$need,$vendored}from\"../app.js\";".to_owned()
        };
        let (text, map) = script(path, &head, names, &modules);
        files.insert(format!("{path}.map"), map);
        files.insert(path.clone(), text);
    }
    let mut sheet = String::new();
    for name in SHEETS {
        sheet.push_str(&minify::sheet(&read(name).ok_or_else(|| missing(name))?));
    }
    files.insert(SHEET.to_owned(), sheet);
    Ok(files)
}

/// The modules of one script: those that views of the same areas reach. What loads a library is apart, so
/// that it is loaded where it is used.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Group<'m> {
    areas: BTreeSet<&'m str>,
    libraries: BTreeSet<&'m str>,
}

impl<'m> Group<'m> {
    /// The group of a module that these entries reach. What the page's own entry reaches is there before all
    /// others.
    fn of(module: &'m Module, entries: impl Iterator<Item = &'m str>) -> Self {
        let area = |entry: &'m str| entry.rsplit_once('/').map_or(ENTRY, |(area, _)| area);
        let areas: BTreeSet<&str> = entries.map(area).collect();
        let areas = if areas.contains(ENTRY) { BTreeSet::from([ENTRY]) } else { areas };
        let libraries = module.imports.iter().map(String::as_str);
        let libraries = libraries.filter(|name| name.starts_with(VENDORED) && !name.starts_with(EVERYWHERE));
        Self { areas, libraries: libraries.collect() }
    }

    fn is_entry(&self) -> bool {
        self.areas.contains(ENTRY)
    }
}

fn missing(name: &str) -> String {
    format!("{name}: there is no such file")
}

/// Every module that the page's entry reaches, at once or on demand.
fn modules(read: &dyn Fn(&str) -> Option<String>) -> Result<BTreeMap<String, Module>, String> {
    let mut modules = BTreeMap::new();
    let mut left = vec![ENTRY.to_owned()];
    while let Some(name) = left.pop() {
        if name.starts_with(VENDORED) || modules.contains_key(&name) {
            continue;
        }
        let module = module(&name, &read(&name).ok_or_else(|| missing(&name))?)?;
        left.extend(module.imports.iter().chain(&module.loads).cloned());
        modules.insert(name, module);
    }
    Ok(modules)
}

/// The modules that are there once an entry ran, itself included.
fn closure<'m>(modules: &'m BTreeMap<String, Module>, entry: &str) -> BTreeSet<&'m str> {
    let mut found = BTreeSet::new();
    let mut left = vec![entry];
    while let Some(name) = left.pop() {
        let Some((name, module)) = modules.get_key_value(name) else { continue };
        if found.insert(name.as_str()) {
            left.extend(module.imports.iter().map(String::as_str));
        }
    }
    found
}

/// Replaces the imports and exports of a module.
fn module(name: &str, source: &str) -> Result<Module, String> {
    let mut module =
        Module { lines: Vec::new(), exports: Vec::new(), imports: BTreeSet::new(), loads: BTreeSet::new() };
    let mut lines = minify::script(source).into_iter();
    while let Some(mut line) = lines.next() {
        let fault = |number: usize| format!("{name}:{}: this import or export cannot be linked", number + 1);
        if !line.in_template {
            if let Some(rest) =
                line.text.strip_prefix("import").filter(|rest| rest.starts_with(['{', '"', '*', ' ']))
            {
                let mut statement = rest.trim_start().to_owned();
                while !statement.ends_with("\";") {
                    statement.push_str(&lines.next().ok_or_else(|| fault(line.number))?.text);
                }
                line.text =
                    import(name, &statement, &mut module.imports).ok_or_else(|| fault(line.number))?;
            } else if line.text.starts_with(EXPORT) {
                line.text = line.text.split_off(EXPORT.len());
                module.exports.push(exported(&line.text).ok_or_else(|| fault(line.number))?);
            } else if line.text.starts_with("export{") {
                return Err(fault(line.number));
            }
        }
        line.text = on_demand(name, &line.text, &mut module.loads);
        module.lines.push(line);
    }
    Ok(module)
}

/// `import{a,b as c}from"./d.js";` without its first word, as a statement of a function.
fn import(name: &str, statement: &str, imports: &mut BTreeSet<String>) -> Option<String> {
    let (what, path) = statement.strip_suffix("\";")?.split_once('"')?;
    let path = resolved(name, path)?;
    let needed = format!("$need(\"{path}\")");
    imports.insert(path);
    let Some(what) = what.strip_suffix("from") else {
        return what.is_empty().then(|| format!("{needed};"));
    };
    let what = what.trim_end();
    Some(if let Some(all) = what.strip_prefix("*as ") {
        format!("const {all}={needed};")
    } else if what.starts_with('{') {
        format!("const{}={needed};", what.replace(" as ", ":").replace(",}", "}"))
    } else {
        format!("const{{default:{what}}}={needed};")
    })
}

/// The name of what follows `export `.
fn exported(rest: &str) -> Option<String> {
    let named = ["function*", "function ", "async function*", "async function ", "class ", "const "]
        .into_iter()
        .find_map(|word| rest.strip_prefix(word))?;
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$');
    let name = named.split(|character| !is_of_name(character)).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Replaces what is loaded on demand, and the module's own address.
fn on_demand(name: &str, text: &str, loads: &mut BTreeSet<String>) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("import(\"") {
        made.push_str(before);
        rest = after;
        let path = after.split_once("\")").and_then(|(path, after)| Some((resolved(name, path)?, after)));
        match path {
            Some((path, after)) => {
                let _infallible = write!(made, "$load(\"{path}\")");
                rest = after;
                loads.insert(path);
            }
            None => made.push_str("import(\""),
        }
    }
    made.push_str(rest);
    made.replace("import.meta.url", &format!("new URL(\"{{{{root}}}}{name}\",import.meta.url)"))
}

/// The path that a module names relative to itself.
fn resolved(name: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    if !path.starts_with('.') {
        return None;
    }
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A script of some modules, and its map.
fn script(path: &str, head: &str, names: &[&str], modules: &BTreeMap<String, Module>) -> (String, String) {
    let root = if path == ENTRY { "./" } else { "../" };
    let own = names.iter().filter_map(|name| modules.get_key_value(*name));
    let own: Vec<(&String, &Module)> = own.collect();
    let vendored: BTreeSet<&str> = own
        .iter()
        .flat_map(|(_, module)| &module.imports)
        .map(String::as_str)
        .filter(|name| name.starts_with(VENDORED))
        .collect();
    let mut text = String::new();
    for (at, name) in vendored.iter().enumerate() {
        let _infallible = write!(text, "import*as v{at} from\"{root}{name}\";");
    }
    text.push_str(head);
    for (at, name) in vendored.iter().enumerate() {
        let _infallible = write!(text, "$vendored(\"{name}\",v{at});");
    }
    text.push('\n');
    let mut map = Map::default();
    map.skip_line();
    for (at, (name, module)) in own.iter().enumerate() {
        let exports: Vec<String> = module.exports.iter().map(|name| format!("{name}:()=>{name}")).collect();
        let _infallible = write!(text, "$module(\"{name}\",($own)=>{{");
        if !exports.is_empty() {
            let _infallible = write!(text, "$export($own,{{{}}});", exports.join(","));
        }
        text.push('\n');
        map.skip_line();
        for line in &module.lines {
            text.push_str(&line.text.replace("{{root}}", root));
            text.push('\n');
            map.line(at, line.number);
        }
        text.push_str("});\n");
        map.skip_line();
    }
    if path == ENTRY {
        let _infallible = writeln!(text, "$need(\"{ENTRY}\");");
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let _infallible = writeln!(text, "//# sourceMappingURL={file}.map");
    let sources: Vec<String> = own.iter().map(|(name, _)| format!("\"{root}{name}\"")).collect();
    let map = format!(
        "{{\"version\":3,\"sources\":[{}],\"names\":[],\"mappings\":\"{}\"}}",
        sources.join(","),
        map.mappings
    );
    (text, map)
}

/// A source map that knows lines and no columns.
#[derive(Default)]
struct Map {
    mappings: String,
    source: usize,
    line: usize,
}

impl Map {
    fn skip_line(&mut self) {
        self.mappings.push(';');
    }

    fn line(&mut self, source: usize, line: usize) {
        self.mappings.push('A');
        digits(self.source, source, &mut self.mappings);
        digits(self.line, line, &mut self.mappings);
        self.mappings.push_str("A;");
        (self.source, self.line) = (source, line);
    }
}

/// A difference in the digits of source maps: five bits each, the sign last in the first.
fn digits(from: usize, to: usize, made: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut left = (to.abs_diff(from) << 1) | usize::from(to < from);
    loop {
        let digit = (left & 31) | if left > 31 { 32 } else { 0 };
        made.push(char::from(*DIGITS.get(digit).expect("a digit has six bits")));
        left >>= 5;
        if left == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(files: &[(&str, &str)]) -> Result<Files, String> {
        link(&|name| {
            let found = files.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned());
            found.or_else(|| SHEETS.contains(&name).then(String::new))
        })
    }

    #[test]
    fn modules_that_views_of_the_same_areas_reach_make_one_script() {
        let app = "import { a } from \"./a.js\";\nconst f = () => import(\"./one/b.js\");\nimport(\"./two/c.js\");\n";
        let b = "import { a as b } from \"../a.js\";\nimport \"./d.js\";\nimport \"./e.js\";\nexport function f() {}\n";
        let files = linked(&[
            ("app.js", app),
            ("a.js", "export const a = 1;\n"),
            ("one/b.js", b),
            ("two/c.js", "import * as d from \"../one/d.js\";\nimport {\n  x,\n} from \"../vendor/x.js\";\n"),
            ("one/d.js", "export class D {}\nconst u = import.meta.url;\n"),
            ("one/e.js", "export async function* e() {}\n"),
        ])
        .unwrap();
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let maps = ["app.js.map", "bundle/1.js.map", "bundle/2.js.map", "bundle/3.js.map"];
        assert!(maps.iter().all(|map| names.contains(map)), "{names:?}");
        // The map of each script, each script, the sheet.
        assert_eq!(names.len(), 2 * maps.len() + 1);
        let app = &files["app.js"];
        assert!(app.contains("\"one/b.js\":[\"./bundle/1.js\",\"./bundle/2.js\"]"), "{app}");
        assert!(app.contains("\"two/c.js\":[\"./bundle/2.js\",\"./bundle/3.js\"]"), "{app}");
        assert!(app.contains("const{a}=$need(\"a.js\");\nconst f=()=>$load(\"one/b.js\");"), "{app}");
        let own = &files["bundle/1.js"];
        assert!(own.contains("const{a:b}=$need(\"a.js\");\n$need(\"one/d.js\");"), "{own}");
        assert!(own.contains("($own)=>{$export($own,{e:()=>e});\nasync function*e(){}\n});"), "{own}");
        assert!(files["bundle/2.js"].contains("new URL(\"../one/d.js\",import.meta.url)"));
        assert!(files["bundle/3.js"].starts_with("import*as v0 from\"../vendor/x.js\";import{$export"));
        assert!(files["bundle/3.js"].contains("const{x}=$need(\"vendor/x.js\");"));
    }

    #[test]
    fn a_form_that_cannot_be_linked_is_named_with_its_line() {
        let fault = linked(&[("app.js", "const a = 1;\nexport { a };\n")]).unwrap_err();
        assert_eq!(fault, "app.js:2: this import or export cannot be linked");
        let fault = linked(&[("app.js", "import { a } from \"./gone.js\";\n")]).unwrap_err();
        assert_eq!(fault, "gone.js: there is no such file");
    }

    #[test]
    fn a_map_leads_from_each_line_to_its_source() {
        let files = linked(&[
            ("app.js", "// a\nimport { a } from \"./a.js\";\n\n\na();\n"),
            ("a.js", "\nexport const a = 1;\n"),
        ]);
        // Of `a.js` line 1, of `app.js` lines 1 and 4.
        let map = &files.unwrap()["app.js.map"];
        assert!(map.contains("\"sources\":[\"./a.js\",\"./app.js\"]"), "{map}");
        assert!(map.ends_with("\"mappings\":\";;AACA;;;ACAA;AAGA;;\"}"), "{map}");
    }
}
