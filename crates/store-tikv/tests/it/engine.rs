pub fn url_or_say(prefix: &str) -> Option<String> { Some(format!("tikv://127.0.0.1:23790/{}{prefix}", std::env::var("PFX").unwrap_or_default())) }
