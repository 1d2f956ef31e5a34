from wordmint.cli import main

main()
