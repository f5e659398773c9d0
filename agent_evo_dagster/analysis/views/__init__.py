"""Views: what the report shows, as plain tables and sentences. No HTML, no Markdown, no pictures."""
