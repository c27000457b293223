"""What every command needs: tools, builds, child processes, files, the list of lessons."""
