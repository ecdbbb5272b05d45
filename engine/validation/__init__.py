"""The validation: published claims, figures of real click logs, and gaps of estimates."""
