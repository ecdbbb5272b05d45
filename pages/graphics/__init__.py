"""Charts: specifications as values, and the component that draws and saves one."""
