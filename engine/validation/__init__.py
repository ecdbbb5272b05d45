"""The validation: claims of papers, figures of real click logs, and the estimate's gap to the full run."""
